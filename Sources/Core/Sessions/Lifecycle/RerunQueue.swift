/// The runs that a session's client requested: one at a time for each subscription. Requests during a run lead to one
/// more run. Bound: the session's subscriptions.
package struct RerunQueue: Sendable {
    /// The subscriptions that await the result of a run, and whether another was requested meanwhile.
    private var awaiting: [String: Bool] = [:]

    package init() {}

    /// Handles a request.
    /// - Returns: whether to run now; then `answered` or `ended` must follow.
    package mutating func requested(_ id: String) -> Bool {
        guard awaiting[id] == nil else {
            awaiting[id] = true
            return false
        }
        awaiting[id] = false
        return true
    }

    /// Handles the result.
    /// - Returns: whether another run was requested meanwhile; then request it.
    package mutating func answered(_ id: String) -> Bool { awaiting.removeValue(forKey: id) ?? false }

    /// The run was not begun or not answered in time, or the subscription ended.
    package mutating func ended(_ id: String) { awaiting[id] = nil }
}
