import Observability
package import RoleMachines

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
