import Observability
package import RoleMachines

/// The database's view of the replication slot and the publications, for operators.
package struct SlotReport: Sendable, Hashable {
    package struct Publication: Sendable, Hashable {
        package var name: String
        /// The tables, sorted; those of other Postgres schemas than the connection's with that schema.
        package var tables: [String]

        package init(name: String, tables: [String]) {
            self.name = name
            self.tables = tables
        }
    }

    package var name: String
    /// Nil if there is none.
    package var slot: TailerMachine.Inspection.Slot?
    /// Why the slot cannot be read; nil also if no query refreshes by the log.
    package var obstacle: String?
    /// Freshet's publications that exist.
    package var publications: [Publication]
    /// The tables that are read and not published, sorted.
    package var unpublished: [String]

    package init(
        name: String, slot: TailerMachine.Inspection.Slot?, obstacle: String?, publications: [Publication],
        unpublished: [String]
    ) {
        self.name = name
        self.slot = slot
        self.obstacle = obstacle
        self.publications = publications
        self.unpublished = unpublished
    }
}

extension SlotReport {
    /// Why the log is not read, or may not be soon, in words; nil without a problem.
    package var problem: String? {
        let health: String? =
            switch SlotHealth(slot) {
            case .ok: nil
            case .unreserved: "the replication slot \(name) may be lost soon: its log is not reserved"
            case .lost: "the replication slot \(name) is lost"
            case .missing: obstacle == nil ? "the replication slot \(name) does not exist" : nil
            }
        let problems = [health, obstacle].compactMap { $0 }
        if !problems.isEmpty { return problems.joined(separator: "; ") }
        return slot?.reader == nil ? "no node reads the replication slot \(name)" : nil
    }
}

/// The condition of the slot, also of one that does not exist.
package enum SlotHealth: String, MetricLabelValue {
    case ok, unreserved, lost, missing

    package init(_ slot: TailerMachine.Inspection.Slot?) {
        self =
            switch slot?.health {
            case .ok: .ok
            case .unreserved: .unreserved
            case .lost: .lost
            case nil: .missing
            }
    }
}

extension TailerMachine.Inspection.Slot {
    /// The log that can be written before the slot may be lost, as a number: infinite without limit.
    package var safeBytesOrInfinity: Double { health == .lost ? 0 : safeBytes.map(Double.init) ?? .infinity }
}

/// The reason that the slot could not be shown or dropped, as a sentence for operators.
package struct SlotFailure: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Kind: Sendable, Hashable {
        /// There is nothing to drop.
        case missing
        /// Something must be changed first.
        case refused
        /// The database did not answer, or with another error.
        case unavailable
    }

    package let kind: Kind
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
