public import FreshetClient
public import Observation

/// A live query for views: an `@Observable` object on the main actor. Source: SDK specification §1, rows 6 to 8, 21.
///
///     @State private var lots: QueryModel<ListLots>
///     …
///     List(lots.data?.lots ?? []) { Text($0.title) }
///         .task { await lots.follow() }
@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
@MainActor @Observable
public final class QueryModel<Operation: QueryOperation> {
    public enum Phase: Sendable, Hashable {
        /// Nobody follows it.
        case idle
        /// There is no result yet.
        case loading
        /// The data are the server's, and it would tell of a change.
        case live
        /// The data are the last known ones.
        case stale
        /// The server refused the query.
        case ended
    }

    public let query: Query<Operation>
    /// The last state; nil before the first.
    public private(set) var result: LiveResult<Operation.Data>?
    public private(set) var phase = Phase.idle
    /// Why the data are not confirmed, or why the query ended.
    public private(set) var error: FreshetError?
    private var followers = 0
    @ObservationIgnored private var task: Task<Void, Never>?

    public init(_ query: Query<Operation>) { self.query = query }

    deinit { task?.cancel() }

    /// The newest known data.
    public var data: Operation.Data? { result?.data }

    /// Follows the query until the calling task is cancelled. Several views may do so at once.
    public func follow() async {
        start()
        await withTaskCancellationHandler {
            // Ends by cancellation only.
            let never = AsyncStream<Void> { _ in }
            for await _ in never {}
        } onCancel: {
            Task { @MainActor in stop() }
        }
    }

    /// Follows the query until `stop` was called as often.
    public func start() {
        followers += 1
        guard task == nil else { return }
        phase = .loading
        let query = query
        task = Task { [weak self] in await Self.run(query) { self } }
    }

    public func stop() {
        guard followers > 0 else { return }
        followers -= 1
        guard followers == 0 else { return }
        task?.cancel()
        task = nil
        phase = .idle
    }

    /// Reads the result once; `data` changes as well.
    @discardableResult
    public func refresh(_ policy: FetchPolicy = .serverOnly) async throws(FreshetError) -> Operation.Data {
        do throws(FreshetError) {
            let read = try await query.get(policy)
            if phase == .idle || result?.data == nil {
                result = LiveResult(data: read.data, source: read.source, isConfirmed: false)
                error = nil
            }
            return read.data
        } catch {
            self.error = error
            throw error
        }
    }

    private static func run(_ query: Query<Operation>, _ model: @MainActor () -> QueryModel?) async {
        while !Task.isCancelled {
            do throws(FreshetError) {
                var states = query.live().makeAsyncIterator()
                while let state = try await states.next() {
                    guard let model = model() else { return }
                    if Task.isCancelled { return }
                    model.show(state)
                }
                return
            } catch {
                guard !Task.isCancelled, let model = model() else { return }
                // Another user must not see these data.
                if error.code == .userChanged {
                    model.forget()
                    continue
                }
                model.end(error)
                return
            }
        }
    }

    private func show(_ state: LiveResult<Operation.Data>) {
        result = state
        error = state.error
        phase = state.isConfirmed ? .live : state.data == nil ? .loading : .stale
    }

    private func forget() {
        result = nil
        error = nil
        phase = .loading
    }

    private func end(_ error: FreshetError) {
        self.error = error
        phase = .ended
    }
}

@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
extension Query {
    @MainActor public func model() -> QueryModel<Operation> { QueryModel(self) }
}
