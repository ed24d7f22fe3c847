import Foundation
package import FreshetLink
import FreshetQueue
import FreshetSQLite
import FreshetStore
package import FreshetTransport
package import FreshetTypes
import JSON

/// Performs what the machines of a connector decide: the link to the server, the cache and the queue of mutations of
/// the present user. One engine per connector; everything that apps see comes from here.
package actor Engine {
    typealias TransportFactory = @Sendable (ServerEndpoint) throws -> any Transport

    enum Event: Sendable {
        case socket(link: Int, SocketEvent)
        case timer
    }

    /// A live query with its subscribers. It ends with the last of them.
    struct Feed {
        let id: FeedID
        let query: StoredQuery
        var snapshot = FeedSnapshot()
        var emitted: FeedSnapshot?
        var subscribers: [Int: AsyncStream<FeedEvent>.Continuation] = [:]
    }

    struct Observer {
        let type: String
        let continuation: AsyncStream<ObservedEvent>.Continuation
    }

    /// The bound on events that an observer of rows has not read; past it, the observer ends.
    static let observedEventsMax = 4_096

    let identity: ConnectorIdentity
    let endpoint: ServerEndpoint
    let cache: CacheSettings
    let auth: AuthSource
    let options: ConnectorOptions
    let time: any EngineTime
    let transport: any Transport

    var link: LinkMachine
    var store: StoreMachine
    /// The queues of this run, by user. Only the present user's sends.
    var queues: [String: QueueMachine] = [:]
    var file: FileStore?
    var sockets: [Int: any SocketConnection] = [:]
    /// Requests of feeds that are followed without a WebSocket. Bounded by `LinkLimits.exchangesMax`.
    var exchanges: [String: Task<Void, Never>] = [:]

    /// The user; nil until the first use.
    var scope: String?
    var present: Identity?
    var preparation: Task<FreshetError?, Never>?
    var fetching: Task<Result<Identity, FreshetError>, Never>?
    /// Reads the present user's queue from the file.
    var queueLoading: Task<Void, Never>?
    var isStopped = false

    var feeds: [ResultKey: Feed] = [:]
    var keys: [FeedID: ResultKey] = [:]
    var observers: [Int: Observer] = [:]
    var statuses: [Int: AsyncStream<LinkStatus>.Continuation] = [:]
    var queueEvents: [Int: AsyncStream<QueueEvent>.Continuation] = [:]
    /// The mutations of all queues whose outcome is not there yet.
    var unsettled: Set<String> = []
    /// Callers that wait for one outcome, by the mutation's id.
    var outcomeWaiters: [String: [Int: AsyncStream<QueueEvent>.Continuation]] = [:]
    /// Answers of mutations that are being settled.
    var answers: [String: MutationData] = [:]
    /// The callers of `wait(for:)`. Bounded by `LinkLimits.waitsMax`.
    var waiters: [WaitID: CheckedContinuation<FreshetError?, Never>] = [:]
    /// The waits for applied mutations of the queue, and whose they are. Bounded by `QueueLimits.unshownMax`.
    var mutationWaits: [WaitID: MutationWait] = [:]
    /// The last outcomes, for apps that ask after the answer came.
    var settled: [QueueEvent] = []
    static let settledMax = 256
    var status = LinkStatus.idle
    /// Since when a link that worked is gone, in milliseconds since 1970; nil while it works, or nothing needs it.
    var staleSinceMs: Int64?
    /// The invalidations so far, those by `clear` included: what is read from the file or asked of
    /// the server meanwhile may be invalid.
    var invalidations = 0
    private var lastNumber = 0

    private let events: AsyncStream<Event>.Continuation
    private var timer: Task<Void, Never>?
    private var timerAtMs: Int64?

    package init(
        _ identity: ConnectorIdentity, endpoint: ServerEndpoint, transport: any Transport, cache: CacheSettings,
        auth: AuthSource, options: ConnectorOptions, time: any EngineTime, seed: UInt64,
        limits: LinkLimits = LinkLimits()
    ) {
        self.identity = identity
        self.endpoint = endpoint
        self.transport = transport
        self.cache = cache
        self.auth = auth
        self.options = options
        self.time = time
        link = LinkMachine(limits: limits, seed: seed)
        store = StoreMachine(bytesMax: Self.memoryBytesMax(cache))
        // Bounded by the sockets, which read no further while too many of their messages wait here.
        let (stream, continuation) = AsyncStream.makeStream(of: Event.self)
        events = continuation
        Task { [weak self] in
            for await event in stream { await self?.handle(event) }
        }
    }

    static func memoryBytesMax(_ cache: CacheSettings) -> Int {
        switch cache.storage {
        case .persistent: cache.memoryBytesMax
        case .memory: cache.maxBytes
        case .off: 0
        }
    }

    deinit {
        events.finish()
        timer?.cancel()
        for socket in sockets.values { socket.close(code: 1000) }
        for exchange in exchanges.values { exchange.cancel() }
        for waiter in waiters.values { waiter.resume(returning: FreshetError(.closed, "the connector is gone")) }
        file?.close()
        let transport = transport
        Task { await transport.close() }
    }

    /// Waits until the cache's file has all results so far, for tests.
    package func flush() async { await file?.flush() }

    func number() -> Int {
        lastNumber += 1
        return lastNumber
    }

    // MARK: Events

    private func handle(_ event: Event) async {
        switch event {
        case .socket(let link, let event):
            switch event {
            case .opened: perform(self.link.opened(link: link, nowMs: time.nowMs))
            case .text(let text):
                let socket = sockets[link]
                perform(self.link.received(link: link, text, nowMs: time.nowMs))
                socket?.eventProcessed()
            case .closed(let code, let reason, let retryAfterMs, let end):
                sockets[link] = nil
                perform(
                    self.link.closed(
                        link: link, code: code, reason: reason, retryAfterMs: retryAfterMs, end: LinkEnd(end),
                        nowMs: time.nowMs))
            }
        case .timer:
            perform(self.link.tick(nowMs: time.nowMs))
            await tickQueue()
        }
        reschedule()
    }

    func perform(_ actions: [LinkAction]) {
        for action in actions {
            switch action {
            case .fetchToken: fetchToken()
            case .open(let link): open(link)
            case .send(let link, let text): sockets[link]?.send(text)
            case .close(let link, let code): sockets.removeValue(forKey: link)?.close(code: code)
            case .request(let exchange, let request): start(exchange, request)
            case .cancel(let exchange): exchanges.removeValue(forKey: exchange)?.cancel()
            case .result(let id, let data, let errors, let tag): received(id, data, errors, tag)
            case .failed(let id, let error): refreshFailed(id, error)
            case .ended(let id, let error): feedEnded(id, error)
            case .invalidated(let invalidation): invalidated(invalidation)
            case .waited(let id, let error): waited(id, error)
            case .lost(let error): lost(error)
            case .status(let status): changed(to: status)
            }
        }
        reschedule()
    }

    private func open(_ number: Int) {
        sockets[number] = transport.connect(path: "/graphql", subprotocol: "graphql-transport-ws") { [events] event in
            events.yield(.socket(link: number, event))
        }
    }

    private func fetchToken() {
        Task {
            let fetched = await fetchIdentity()
            switch fetched {
            case .success(let identity):
                let leadMs = options.tokenLead.milliseconds
                // A token that lives shortly is renewed in the second half of its life.
                let renewInMs = identity.expiresAtMs.map { expiresAtMs in
                    let lifeMs = expiresAtMs - time.wallMs
                    return max(lifeMs / 2, lifeMs - leadMs)
                }
                perform(link.tokenReady(identity.token, renewInMs: renewInMs, nowMs: time.nowMs))
            case .failure(let error):
                perform(link.tokenFailed(error, nowMs: time.nowMs))
            }
        }
    }

    private func changed(to status: LinkStatus) {
        let isLoss = self.status == .connected
        self.status = status
        switch status {
        case .connected, .idle: staleSinceMs = nil
        case .connecting, .reconnecting, .stopped, .refused, .stale:
            if isLoss {
                staleSinceMs = time.wallMs
                for continuation in statuses.values { continuation.yield(.stale(since: Timestamp(ms: time.wallMs))) }
            }
        }
        for continuation in statuses.values { continuation.yield(status) }
        switch status {
        case .reconnecting(_, let error): lost(error)
        case .connected: Task { await setQueueOnline() }
        case .idle, .connecting, .stale, .stopped, .refused: break
        }
    }

    // MARK: Timer

    /// Arranges a tick for the earliest deadline of the machines.
    func reschedule() {
        let queueMs = queueRetryAtMs.map { $0 - time.wallMs + time.nowMs }
        let atMs = [link.deadlineMs, queueMs].compactMap { $0 }.min()
        guard atMs != timerAtMs else { return }
        timerAtMs = atMs
        timer?.cancel()
        guard let atMs else {
            timer = nil
            return
        }
        timer = Task { [events, time, weak self] in
            await time.sleep(untilMs: atMs)
            if Task.isCancelled { return }
            await self?.timerEnded(atMs)
            events.yield(.timer)
        }
    }

    private func timerEnded(_ atMs: Int64) {
        if timerAtMs == atMs { timerAtMs = nil }
    }
}
