/// A task of a node, which has any combination of them.
package enum Role: String, Sendable, Hashable, CaseIterable {
    case api, worker, gateway, admin, tailer
}

extension Set<Role> {
    /// Whether the node reads the database's log when no other does; workers do, too.
    package var readLog: Bool { contains(.tailer) || contains(.worker) }

    /// The roles' names, sorted.
    package var names: [String] { map(\.rawValue).sorted() }
}
