import Foundation
public import FreshetClient

#if canImport(Combine)
    public import Combine
#else
    public import OpenCombine
#endif

/// Publishes an asynchronous sequence of the SDK. Each subscriber iterates apart, as fast as it asks for elements; a
/// live query gives a slow one the newest state. Cancelling ends the iteration.
///
/// Elements and completions come on the main actor, because closures that are written in views belong to it.
public struct SequencePublisher<Source: AsyncSequence & Sendable>: Publisher where Source.Element: Sendable {
    public typealias Output = Source.Element
    public typealias Failure = FreshetError

    private let source: Source

    public init(_ source: Source) { self.source = source }

    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
        let pump = SequencePump(
            source, receive: { subscriber.receive($0) }, complete: { subscriber.receive(completion: $0) })
        subscriber.receive(subscription: pump)
        pump.start()
    }
}

/// One subscription.
private final class SequencePump<Source: AsyncSequence & Sendable>: Subscription, @unchecked Sendable
where Source.Element: Sendable {
    // `lock` guards the state; the subscriber is called by one task at a time.
    private let lock = NSLock()
    private var demand = Subscribers.Demand.none
    private var waiter: CheckedContinuation<Bool, Never>?
    private var task: Task<Void, Never>?
    private var isCancelled = false
    private let source: Source
    private let receive: (Source.Element) -> Subscribers.Demand
    private let complete: (Subscribers.Completion<FreshetError>) -> Void

    init(
        _ source: Source, receive: @escaping (Source.Element) -> Subscribers.Demand,
        complete: @escaping (Subscribers.Completion<FreshetError>) -> Void
    ) {
        self.source = source
        self.receive = receive
        self.complete = complete
    }

    func start() {
        let task = Task { await run() }
        let isLate = lock.withLock {
            self.task = task
            return isCancelled
        }
        if isLate { task.cancel() }
    }

    private func run() async {
        do {
            var iterator = source.makeAsyncIterator()
            while await isWanted(), let element = try await iterator.next() {
                await deliver(element)
            }
            await end(.finished)
        } catch {
            await end(.failure(error as? FreshetError ?? FreshetError(.closed, "\(error)")))
        }
    }

    @MainActor
    private func deliver(_ element: Source.Element) {
        if lock.withLock({ isCancelled }) { return }
        let further = receive(element)
        lock.withLock {
            demand -= 1
            demand += further
        }
    }

    @MainActor
    private func end(_ completion: Subscribers.Completion<FreshetError>) {
        if !lock.withLock({ isCancelled }) { complete(completion) }
    }

    /// Waits until the subscriber asks for an element; false: it has cancelled.
    private func isWanted() async -> Bool {
        await withCheckedContinuation { continuation in
            let answer: Bool? = lock.withLock {
                if isCancelled { return false }
                if demand > .none { return true }
                waiter = continuation
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    func request(_ demand: Subscribers.Demand) {
        let waiter = lock.withLock {
            self.demand += demand
            return self.demand > .none ? self.waiter.take() : nil
        }
        waiter?.resume(returning: true)
    }

    func cancel() {
        let (waiter, task) = lock.withLock {
            isCancelled = true
            return (self.waiter.take(), self.task.take())
        }
        waiter?.resume(returning: false)
        task?.cancel()
    }
}

extension Query {
    /// The states of the live query, see `live()`.
    public var publisher: AnyPublisher<LiveResult<Operation.Data>, FreshetError> {
        SequencePublisher(live()).eraseToAnyPublisher()
    }
}

/// Publishers from sequences. Source: SDK specification §1, row 26.
public enum Freshet {
    public enum Publisher {
        /// `Freshet.Publisher.create(movies.observe(MovieKey.self))`
        public static func create<Source: AsyncSequence & Sendable>(
            _ source: Source
        ) -> AnyPublisher<Source.Element, FreshetError> where Source.Element: Sendable {
            SequencePublisher(source).eraseToAnyPublisher()
        }
    }
}
