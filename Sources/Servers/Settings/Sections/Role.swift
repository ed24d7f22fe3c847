/// What a node does; any combination.
package enum Role: String, Sendable, Hashable, CaseIterable {
    case api, worker, gateway, admin
}
