public import FreshetClient
import FreshetCombine
public import Observation

#if canImport(Combine)
    @preconcurrency public import Combine
#else
    @preconcurrency public import OpenCombine
#endif

/// A query ref that is `@Observable`, the default of `observablePublisher`. Source: SDK specification §1, rows 6 to 8,
/// 17 to 21.
///
/// Each `subscribe().sink` is a subscription of its own; with the last one cancelled, updates end.
@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
@MainActor @Observable
public final class QueryRefObservation<Operation: QueryOperation> {
    public let query: Query<Operation>
    /// The newest known data; set by `execute` and by subscriptions.
    public internal(set) var data: Operation.Data?
    public internal(set) var source = ResultSource.cache
    /// Why the last read or update failed; nil after one that did not.
    public internal(set) var lastError: FreshetError?

    public init(_ query: Query<Operation>) { self.query = query }

    /// Reads once.
    /// - Throws: `FreshetError`, also in `lastError`.
    @discardableResult
    public func execute(fetchPolicy: QueryFetchPolicy = .preferCache) async throws -> OperationResult<Operation.Data> {
        do throws(FreshetError) {
            let result = try await query.get(fetchPolicy)
            (data, source, lastError) = (result.data, result.source, nil)
            return OperationResult(data: result.data, source: result.source)
        } catch {
            lastError = error
            throw error
        }
    }

    /// Follows the query as long as the publisher has subscribers.
    public func subscribe() async throws -> AnyPublisher<
        Result<OperationResult<Operation.Data>, AnyDataConnectError>, Never
    > {
        query.refPublisher { [weak self] state in self?.show(state) }
    }

    private func show(_ state: Result<LiveResult<Operation.Data>, FreshetError>) {
        switch state {
        case .success(let result):
            (data, source, lastError) = (result.data, result.source, result.error)
        case .failure(let error):
            // Another user must not see these data.
            if error.code == .userChanged { data = nil }
            lastError = error
        }
    }
}

/// A query ref that is an `ObservableObject`, for systems without `@Observable` and for `@StateObject`.
@MainActor
public final class QueryRefObservableObject<Operation: QueryOperation>: ObservableObject {
    public nonisolated let objectWillChange = ObservableObjectPublisher()
    public let query: Query<Operation>
    /// The newest known data; set by `execute` and by subscriptions.
    public private(set) var data: Operation.Data? { willSet { objectWillChange.send() } }
    public private(set) var source = ResultSource.cache { willSet { objectWillChange.send() } }
    /// Why the last read or update failed; nil after one that did not.
    public private(set) var lastError: FreshetError? { willSet { objectWillChange.send() } }

    public init(_ query: Query<Operation>) { self.query = query }

    /// Reads once.
    /// - Throws: `FreshetError`, also in `lastError`.
    @discardableResult
    public func execute(fetchPolicy: QueryFetchPolicy = .preferCache) async throws -> OperationResult<Operation.Data> {
        do throws(FreshetError) {
            let result = try await query.get(fetchPolicy)
            (data, source, lastError) = (result.data, result.source, nil)
            return OperationResult(data: result.data, source: result.source)
        } catch {
            lastError = error
            throw error
        }
    }

    /// Follows the query as long as the publisher has subscribers.
    public func subscribe() async throws -> AnyPublisher<
        Result<OperationResult<Operation.Data>, AnyDataConnectError>, Never
    > {
        query.refPublisher { [weak self] state in self?.show(state) }
    }

    private func show(_ state: Result<LiveResult<Operation.Data>, FreshetError>) {
        switch state {
        case .success(let result):
            (data, source, lastError) = (result.data, result.source, result.error)
        case .failure(let error):
            if error.code == .userChanged { data = nil }
            lastError = error
        }
    }
}

extension Query {
    /// The states of a live query as results of Firebase's form. A lost link is an error between results and the query
    /// goes on; a refusal is the last error.
    fileprivate func refPublisher(
        _ show: @escaping @MainActor @Sendable (Result<LiveResult<Operation.Data>, FreshetError>) -> Void
    ) -> AnyPublisher<Result<OperationResult<Operation.Data>, AnyDataConnectError>, Never> {
        SequencePublisher(RefResults(states: live(), show: show)).assertNoFailure().eraseToAnyPublisher()
    }
}

/// Results of a live query, each shown on the main actor before it is published.
private struct RefResults<Operation: QueryOperation>: AsyncSequence, Sendable {
    typealias Element = Result<OperationResult<Operation.Data>, FreshetError>

    let states: LiveResults<Operation>
    let show: @MainActor @Sendable (Result<LiveResult<Operation.Data>, FreshetError>) -> Void

    func makeAsyncIterator() -> Iterator { Iterator(states: states.makeAsyncIterator(), show: show) }

    struct Iterator: AsyncIteratorProtocol {
        var states: LiveResults<Operation>.Iterator
        let show: @MainActor @Sendable (Result<LiveResult<Operation.Data>, FreshetError>) -> Void
        var hasEnded = false

        mutating func next() async -> Element? {
            if hasEnded { return nil }
            do throws(FreshetError) {
                guard let state = try await states.next() else { return nil }
                await show(.success(state))
                if let error = state.error { return .failure(error) }
                return .success(OperationResult(data: state.data, source: state.source))
            } catch {
                hasEnded = true
                await show(.failure(error))
                return .failure(error)
            }
        }
    }
}
