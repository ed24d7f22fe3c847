/// The server that answers, as a client sees it, and how often another one has taken its place: another Redis process,
/// or another timeline of Postgres.
package struct ServerIdentity: Sendable, Hashable {
    /// The identifier that the last server reported; nil before the first answer.
    package private(set) var current: String?
    /// The number of times that another server answered than before.
    package private(set) var changes = 0

    package init() {}

    /// Records the identifier of the answering server.
    /// - Returns: whether another one answered before.
    @discardableResult
    package mutating func met(_ server: String) -> Bool {
        defer { current = server }
        guard let current, current != server else { return false }
        changes += 1
        return true
    }
}
