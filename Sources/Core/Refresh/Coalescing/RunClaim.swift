import LiveModel

/// What decides when a due live query gets its turn among others that take long.
struct RunClaim: Hashable, Sendable {
    /// Whose turn a run takes.
    enum Owner: Hashable, Sendable {
        case client(ClientID)
        /// Live queries whose clients are unknown, or several.
        case operation(OperationReference)
    }

    let owner: Owner
    /// Whether the live query has no result yet.
    let isFirst: Bool
}
