import FreshetStore
public import FreshetTypes

/// A state of a live query.
public struct LiveResult<Data: OperationData>: Sendable, Hashable {
    /// The newest known result; nil while there is none, with the reason in `error`.
    public let data: Data?
    public let source: ResultSource
    /// When the server sent the data.
    public let fetchedAt: Timestamp?
    /// Whether the server is connected and would tell of a newer result.
    public let isConfirmed: Bool
    /// Since when it is not confirmed.
    public let staleSince: Timestamp?
    /// Why it is not confirmed, or that the data are partial.
    public let error: FreshetError?
    /// The errors beside partial data.
    public let errors: [ResponseError]
    /// Whether queued mutations are pending: those that wait, whose expected changes the data contain, and those that
    /// were applied and that the live queries may not show yet.
    public let hasPendingMutations: Bool

    public init(
        data: Data?, source: ResultSource, fetchedAt: Timestamp? = nil, isConfirmed: Bool,
        staleSince: Timestamp? = nil, error: FreshetError? = nil, errors: [ResponseError] = [],
        hasPendingMutations: Bool = false
    ) {
        self.data = data
        self.source = source
        self.fetchedAt = fetchedAt
        self.isConfirmed = isConfirmed
        self.staleSince = staleSince
        self.error = error
        self.errors = errors
        self.hasPendingMutations = hasPendingMutations
    }

    /// - Throws: `ResultError` if the document does not fit.
    package init(_ snapshot: FeedSnapshot) throws(ResultError) {
        func time(_ ms: Int64?) -> Timestamp? { ms.map(Timestamp.init(ms:)) }
        var data: Data?
        if let document = snapshot.document { data = try Data(result: AnyValue(json: document)) }
        self.init(
            data: data, source: snapshot.source, fetchedAt: time(snapshot.fetchedAtMs),
            isConfirmed: snapshot.isConfirmed, staleSince: time(snapshot.staleSinceMs), error: snapshot.error,
            errors: snapshot.errors, hasPendingMutations: snapshot.hasPendingMutations)
    }

    /// How old the data are now.
    public var age: Duration? {
        fetchedAt.map { time in
            let ms = time.seconds * 1_000 + Int64(time.nanoseconds / 1_000_000)
            return .milliseconds(max(0, SystemTime().wallMs - ms))
        }
    }
}

/// The states of a live query. Each loop is a subscriber of its own; a slow one gets the newest state only.
public struct LiveResults<Operation: QueryOperation>: AsyncSequence, Sendable {
    public typealias Element = LiveResult<Operation.Data>
    public typealias Failure = FreshetError

    public let query: Query<Operation>

    init(_ query: Query<Operation>) { self.query = query }

    public func makeAsyncIterator() -> Iterator { Iterator(query) }

    public struct Iterator: AsyncIteratorProtocol {
        public typealias Element = LiveResult<Operation.Data>
        public typealias Failure = FreshetError

        private let query: Query<Operation>
        private var events: AsyncStream<FeedEvent>.Iterator?
        private var hasEnded = false

        init(_ query: Query<Operation>) { self.query = query }

        public mutating func next() async throws(FreshetError) -> Element? {
            while !hasEnded {
                if events == nil {
                    let engine = try query.link.engine()
                    let stream = await engine.subscribe(query.stored)
                    events = stream.makeAsyncIterator()
                }
                switch await events?.next() {
                case .snapshot(let snapshot)?:
                    do throws(ResultError) {
                        return try Element(snapshot)
                    } catch {
                        try await unreadable(snapshot, error)
                    }
                case .ended(let error)?:
                    hasEnded = true
                    throw error
                case nil: hasEnded = true
                }
            }
            return nil
        }

        /// A cached result of another version of the app is dropped; the server's follows.
        private mutating func unreadable(
            _ snapshot: FeedSnapshot, _ error: ResultError
        ) async throws(FreshetError) {
            guard snapshot.source == .cache else {
                hasEnded = true
                throw FreshetError(.unreadable, "\(Operation.name): \(error)")
            }
            await (try query.link.engine()).unreadable(query.stored.key)
        }
    }
}
