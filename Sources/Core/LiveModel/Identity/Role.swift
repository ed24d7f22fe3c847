/// What a node does; any combination.
package enum Role: String, Sendable, Hashable, CaseIterable {
    case api, worker, gateway, admin
}

extension Set<Role> {
    /// The roles' names, sorted.
    package var names: [String] { map(\.rawValue).sorted() }
}
