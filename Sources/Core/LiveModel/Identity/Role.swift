/// A task of a node, which has any combination of them.
package enum Role: String, Sendable, Hashable, CaseIterable {
    case api, worker, gateway, admin
}

extension Set<Role> {
    /// The roles' names, sorted.
    package var names: [String] { map(\.rawValue).sorted() }
}
