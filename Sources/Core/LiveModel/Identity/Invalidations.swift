package import JSON

/// A part of clients' caches that they are to drop.
package enum InvalidationSubject: Hashable, Sendable, CustomStringConvertible {
    /// A row, by the id that clients know it by: 32 hexadecimal digits (docs/reference/sql-connect.md §4).
    case entity(id: String)
    /// The results of a query with any variables.
    case operation(OperationReference)
    /// All results of a connector.
    case connector(String)

    /// The form in Redis and in the audit log.
    package var description: String {
        switch self {
        case .entity(let id): "entity \(id)"
        case .operation(let operation): "operation \(operation)"
        case .connector(let connector): "connector \(connector)"
        }
    }

    /// Returns nil for anything but a description.
    package init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return nil }
        switch parts[0] {
        case "entity": self = .entity(id: parts[1])
        case "operation":
            guard let operation = OperationReference(parts[1]) else { return nil }
            self = .operation(operation)
        case "connector": self = .connector(parts[1])
        default: return nil
        }
    }

    /// The form for clients.
    package var json: JSONValue {
        switch self {
        case .entity(let id): ["entity": .string(id)]
        case .operation(let operation): ["operation": .string(operation.description)]
        case .connector(let connector): ["connector": .string(connector)]
        }
    }
}

/// A client's place in the history of invalidations: `GENERATION-MARK`.
package struct InvalidationPosition: Hashable, Sendable, CustomStringConvertible {
    package let generation: UInt64
    /// The mark of the history; another data set in Redis has another one.
    package let mark: String

    package init(generation: UInt64, mark: String) {
        self.generation = generation
        self.mark = mark
    }

    package init?(_ text: String) {
        let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty, let generation = UInt64(parts[0]) else { return nil }
        self.init(generation: generation, mark: String(parts[1]))
    }

    package var description: String { "\(generation)-\(mark)" }
}

/// The history of invalidations in Redis: what was invalidated, and when last. Bounded; a client that was away for
/// longer than the history reaches back, or knows another history, drops everything.
///
/// Each change sets fields of its own, `entry NAME SUBJECT` and `floor NAME`, and removes only fields that it has read,
/// so that several nodes may invalidate at the same time.
package struct Invalidations: Sendable, Hashable {
    private struct Entry: Sendable, Hashable {
        let field: String
        let subject: InvalidationSubject
        let generation: UInt64
    }

    private static let markField = "history"

    /// Nil before a node has begun the history.
    package private(set) var mark: String?
    package private(set) var generation: UInt64 = 0
    /// The generation up to which entries were removed.
    package private(set) var floor: UInt64 = 0
    private var floorFields: [String] = []
    /// Oldest first.
    private var entries: [Entry] = []

    /// The number of entries.
    package var count: Int { entries.count }

    package init() {}

    /// - Parameter fields: the fields of the hash with the generations that set them; unreadable ones are ignored.
    package init(fields: [String: (version: UInt64, value: String)], generation: UInt64) {
        self.generation = generation
        for (field, stored) in fields.sorted(by: { ($0.value.version, $0.key) < ($1.value.version, $1.key) }) {
            let parts = field.split(separator: " ", maxSplits: 2).map(String.init)
            switch (parts.first, parts.count) {
            case (Self.markField, 1): mark = stored.value
            case ("floor", 2):
                floor = max(floor, UInt64(stored.value) ?? stored.version)
                floorFields.append(field)
            case ("entry", 3):
                guard let subject = InvalidationSubject(parts[2]) else { continue }
                entries.append(Entry(field: field, subject: subject, generation: stored.version))
            default: break
            }
        }
    }

    /// The present end of the history; nil if there is none.
    package var position: InvalidationPosition? {
        mark.map { InvalidationPosition(generation: generation, mark: $0) }
    }

    package enum Answer: Sendable, Hashable {
        /// Subjects in the order of their invalidation; empty if there are none.
        case drop([InvalidationSubject])
        case dropEverything
    }

    /// Returns what a client has to drop that knows the history up to a position.
    /// - Parameter position: nil for a client that knows none, and so has nothing to drop.
    package func since(_ position: InvalidationPosition?) -> Answer {
        guard let position else { return .drop([]) }
        guard position.mark == mark, position.generation >= floor else { return .dropEverything }
        var subjects: [InvalidationSubject] = []
        var seen: Set<InvalidationSubject> = []
        for entry in entries where entry.generation > position.generation && seen.insert(entry.subject).inserted {
            subjects.append(entry.subject)
        }
        return .drop(subjects)
    }

    // MARK: Changes

    /// Returns the changes that begin the history.
    package static func beginning(mark: String) -> [(field: String, value: String?)] { [(markField, mark)] }

    /// Returns the changes that add an invalidation, and remove the oldest beyond the bound.
    /// - Parameter name: one that no other change has, without spaces.
    package func adding(
        _ subject: InvalidationSubject, countMax: Int, name: String
    ) -> [(field: String, value: String?)] {
        var changes: [(field: String, value: String?)] = [("entry \(name) \(subject)", "1")]
        let (former, others) = (entries.filter { $0.subject == subject }, entries.filter { $0.subject != subject })
        changes += former.map { ($0.field, nil) }
        let removed = others.prefix(max(0, others.count + 1 - countMax))
        guard let last = removed.last else { return changes }
        changes += removed.map { ($0.field, nil) } + floorFields.map { ($0, nil) }
        changes.append(("floor \(name)", String(max(floor, last.generation))))
        return changes
    }
}
