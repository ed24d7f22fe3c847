package import FreshetLink
public import FreshetTransport
public import FreshetTypes

#if canImport(Darwin)
    import FreshetURLSession
#else
    import FreshetNIO
#endif

/// A generated connector: the operations that an app may run, over one link.
public protocol FreshetConnector: Sendable {
    static var identity: ConnectorIdentity { get }
    var link: ConnectorLink { get }
    init(link: ConnectorLink)
}

/// A connector's link to its server, its cache and its queue of mutations. An app makes one for each connector and
/// keeps it; everything ends when it goes.
///
/// Nothing happens before the first use: no connection, no file.
public final class ConnectorLink: Sendable {
    public typealias TransportFactory = @Sendable (ServerEndpoint) throws -> any Transport

    public let identity: ConnectorIdentity
    private let cache: CacheSettings
    private let auth: AuthSource
    private let options: ConnectorOptions
    private let time: any EngineTime
    private let limits: LinkLimits
    private let makeTransport: TransportFactory
    private let state: Locked<State>

    private struct State {
        var address: String
        var engine: Result<Engine, FreshetError>?
        /// Tells the engine of changes of the network, on Apple's systems.
        var networkWatch: (any Sendable)?
    }

    /// - Parameter address: `http[s]://host[:port]`. A wrong one is reported by the first operation.
    public convenience init(
        _ identity: ConnectorIdentity, at address: String, cache: CacheSettings = .persistent(),
        auth: AuthSource = .none, options: ConnectorOptions = ConnectorOptions()
    ) {
        self.init(identity, at: address, cache: cache, auth: auth, options: options, time: SystemTime()) {
            try systemTransport($0, trust: options.trust)
        }
    }

    /// A link over another transport, such as a `URLSessionTransport` with a configuration of the app.
    public convenience init(
        _ identity: ConnectorIdentity, at address: String, cache: CacheSettings = .persistent(),
        auth: AuthSource = .none, options: ConnectorOptions = ConnectorOptions(),
        transport: @escaping TransportFactory
    ) {
        self.init(
            identity, at: address, cache: cache, auth: auth, options: options, time: SystemTime(), transport: transport)
    }

    package init(
        _ identity: ConnectorIdentity, at address: String, cache: CacheSettings, auth: AuthSource,
        options: ConnectorOptions, time: any EngineTime, limits: LinkLimits = LinkLimits(),
        transport: @escaping TransportFactory
    ) {
        self.limits = limits
        self.identity = identity
        self.cache = cache
        self.auth = auth
        self.options = options
        self.time = time
        makeTransport = transport
        state = Locked(State(address: address))
    }

    /// Uses another server from the start, such as one of `freshet dev`.
    /// - Returns: false if the connector is in use already; then nothing changes.
    @discardableResult
    public func use(address: String) -> Bool {
        state.withLock { state in
            guard state.engine == nil else { return false }
            state.address = address
            return true
        }
    }

    /// - Throws: `FreshetError.invalidAddress`.
    package func engine() throws(FreshetError) -> Engine {
        let made: Result<Engine, FreshetError> = state.withLock { state in
            if let engine = state.engine { return engine }
            let engine = makeEngine(state.address)
            state.engine = engine
            #if canImport(Network)
                if options.followsNetwork, case .success(let engine) = engine {
                    state.networkWatch = NetworkWatch { [weak engine] in
                        Task { [weak engine] in await engine?.networkChanged() }
                    }
                }
            #endif
            return engine
        }
        return try made.get()
    }

    private func makeEngine(_ address: String) -> Result<Engine, FreshetError> {
        guard let endpoint = ServerEndpoint(address) else {
            return .failure(FreshetError(.invalidAddress, "\"\(address)\" is not http[s]://host[:port]"))
        }
        do {
            let engine = Engine(
                identity, endpoint: endpoint, transport: try makeTransport(endpoint), cache: cache, auth: auth,
                options: options, time: time, seed: UInt64.random(in: .min ... .max), limits: limits)
            return .success(engine)
        } catch {
            return .failure(FreshetError(.invalidAddress, "the certificates cannot be used: \(error)"))
        }
    }
}

extension FreshetConnector {
    /// The state of the link: the present one at once, then every change.
    public var status: AsyncStream<LinkStatus> {
        get async throws(FreshetError) { try await link.engine().statusStream() }
    }

    /// Uses `freshet dev` or another server at this address. Call it before the first operation.
    /// - Returns: false if the connector is in use already; then nothing changes.
    @discardableResult
    public func useEmulator(host: String = "127.0.0.1", port: Int = 9_399) -> Bool {
        link.use(address: "http://\(host.contains(":") ? "[\(host)]" : host):\(port)")
    }

    /// Sends mutations that an earlier run left in the queue, and ends `stop`. Without it, the first operation does so.
    public func start() async throws(FreshetError) {
        let engine = try link.engine()
        await engine.start()
        try await engine.resume()
    }

    /// Closes the link: live queries stay and are silent, mutations wait, until `start` or the next operation.
    public func stop() async throws(FreshetError) { await (try link.engine()).stop() }

    /// Stops, and empties the cache of all users. Mutations that wait stay, with what they are expected to change.
    /// - Throws: `.storage` if the cache's file cannot be opened or emptied.
    public func clear() async throws(FreshetError) { try await link.engine().clear() }

    /// Tells that the app's user or token has changed. Live queries of another user end with `userChanged`.
    public func authChanged() async throws(FreshetError) { try await link.engine().authChanged() }

    /// Tells that the network is back or another one, or that the app is used again: the link is tested, or made again
    /// without waiting, and mutations that wait are sent. On Apple's systems this happens by itself
    /// (`ConnectorOptions.followsNetwork`).
    public func networkChanged() async throws(FreshetError) { await (try link.engine()).networkChanged() }

    /// Waits until every live query that this connector follows now shows what a mutation has changed, or was not
    /// concerned by it. Their loops have the results when this returns; a model shows them in its next turn.
    ///
    /// It covers what mutations refresh, by rules, by keys and by rows that they write; not changes of other programs
    /// that the database's log tells (`refresh.source: wal`), and not timers.
    /// - Parameter position: of a mutation's result, of any device; nil: whatever the cluster knows by now.
    /// - Throws: `.timeout` if results are late; `.unsupported` without a WebSocket, or with a server that is too old;
    ///   `.closed` if the task is cancelled or the connector stopped; the error with which the link has ended. The
    ///   mutation stays committed.
    public func wait(for position: MutationPosition?) async throws(FreshetError) {
        try await link.engine().wait(for: position)
    }

    /// The mutations of the present user that wait for the server, in their order.
    public var pendingMutations: [PendingMutation] {
        get async throws(FreshetError) { try await link.engine().pendingMutations() }
    }

    /// The outcomes of queued mutations, those of earlier runs included.
    public var queueEvents: AsyncStream<QueueEvent> {
        get async throws(FreshetError) { try await link.engine().queueStream() }
    }
}

/// The transport of a link that names none.
/// - Throws: if the file of authorities cannot be used.
private func systemTransport(_ endpoint: ServerEndpoint, trust: ServerTrust) throws -> any Transport {
    #if canImport(Darwin)
        switch trust {
        case .system: return URLSessionTransport(endpoint)
        }
    #else
        return try NIOTransport(endpoint, trust: trust)
    #endif
}
