import LiveModel

/// The priority of a due live query among slow ones.
struct RunPriority: Hashable, Sendable {
    /// The client whose turn a run takes.
    enum Client: Hashable, Sendable {
        case known(ClientID)
        /// All subscribers of an operation: the clients of a live query are unknown, or several.
        case unknown(OperationReference)
    }

    let client: Client
    /// Whether the live query has no result yet.
    let isFirst: Bool
}
