import Clocks
import Failover
import Pacing
import Streams
import Logging

/// The thread behind every command but blocking reads: one connection, requests in batches. It takes all waiting
/// requests, writes them together and reads the replies in order, while the next batch gathers in the inbox: a single
/// caller pays for a thread hop, many share the system calls.
///
/// When the connection is lost, requests in flight fail with `.outcomeUnknown` unless they are safe to repeat. Those,
/// and requests not yet sent, wait for the next connection until their deadline.
///
/// `BatchPlan` decides; this performs and never leaves its thread.
struct CommandBatches {
    private let inbox: CommandInbox
    private let configuration: RedisConfiguration
    private let resolver: any RedisEndpointResolver
    private let name: String
    private let logger: Logger
    private var connection: RedisConnection?
    private var server = ServerIdentity()
    private var resolverVersion = 0
    private var plan: BatchPlan

    init(
        _ inbox: CommandInbox, _ configuration: RedisConfiguration, resolver: any RedisEndpointResolver, name: String,
        logger: Logger
    ) {
        self.inbox = inbox
        self.configuration = configuration
        self.resolver = resolver
        self.name = name
        self.logger = logger
        plan = BatchPlan(configuration)
    }

    /// Runs until the inbox closes.
    mutating func run() {
        while true {
            let closing = inbox.take(into: &plan.waiting)
            if let closing, plan.isOver(closing, isConnected: connection != nil) { break }
            noticeMove()
            switch plan.step(connection) {
            case .lend(let connection): lend(connection)
            case .sendBatch(let connection): flush(connection)
            case .reconnect:
                failExpired()
                switch plan.attempt(nowNs: MonotonicClock.nowNs()) {
                case .connect: connect()
                case .wait(let untilNs): _ = inbox.wake.wait(waitMs: msUntil(untilNs))
                }
            }
        }
        connection = nil
        let reason = inbox.end()
        for request in plan.waiting { inbox.finish(request, .failure(reason)) }
        plan.waiting = []
        inbox.ended()
    }

    private mutating func lend(_ connection: RedisConnection) {
        let (sent, isReadable) = inbox.lend(connection) { [resolver, resolverVersion] in
            resolver.version == resolverVersion
        }
        if let sent {
            batchSent([sent.request], connection, sent.failure)
        } else if isReadable {
            // Nothing is in flight, so the server closed the connection.
            lose("closed by the server")
        }
    }

    /// Connects to the new server if it has changed, without the back-off that the former one caused.
    private mutating func noticeMove() {
        guard resolver.version != resolverVersion else { return }
        resolverVersion = resolver.version
        if let connection, !resolver.isCurrent(connection.endpoint) { lose("no longer the primary") }
        plan.serverChanged(isConnected: connection != nil)
    }

    private mutating func connect() {
        do throws(RedisConnection.Failure) {
            let made = try resolver.connect(name: name)
            connection = made
            let isReconnect = server.current != nil
            let isOther = server.met(made.serverID)
            inbox.update { state in
                state.connected = true
                state.serverID = made.serverID
                state.lastConnectError = ""
                state.isMisconfigured = false
                if isReconnect { state.reconnects += 1 }
                if isOther { state.serverChanges += 1 }
            }
            let isTLS = configuration.tls != nil
            logger.info(
                "redis connected",
                metadata: ["address": "\(made.endpoint)", "tls": "\(isTLS)", "otherServer": "\(isOther)"])
        } catch {
            resolver.failed()
            let isNew = inbox.state.lastConnectError != error.reason
            inbox.update { state in
                state.lastConnectError = error.reason
                state.isMisconfigured = error.isFinal
            }
            if isNew { logger.warning("redis connection failed", metadata: ["reason": "\(error.reason)"]) }
            plan.disconnected(nowNs: MonotonicClock.nowNs()) { Int.random(in: $0) }
        }
    }

    private mutating func lose(_ reason: String) {
        connection = nil
        resolver.failed()
        plan.disconnected(nowNs: MonotonicClock.nowNs()) { Int.random(in: $0) }
        inbox.update { state in
            state.connected = false
            state.inFlightRequests = 0
            state.lastConnectError = reason
        }
        logger.warning("redis connection lost", metadata: ["reason": "\(reason)"])
    }

    private mutating func failExpired() {
        let expired = plan.takeExpired(nowNs: MonotonicClock.nowNs())
        guard !expired.isEmpty else { return }
        let reason = inbox.state.lastConnectError
        for request in expired { inbox.finish(request, .failure(BrokerError(.unavailable, reason))) }
    }

    private mutating func flush(_ connection: RedisConnection) {
        failExpired()
        let batch = plan.takeBatch()
        inbox.update { $0.inFlightRequests = batch.count }
        guard !batch.isEmpty else { return }
        var failure: RedisConnection.Failure?
        do throws(RedisConnection.Failure) {
            for request in batch { try connection.write(request.commands.bytes) }
            try connection.flush()
        } catch {
            failure = error
        }
        batchSent(batch, connection, failure)
    }

    /// Reads the replies to a batch.
    /// - Parameter failure: why sending it failed.
    private mutating func batchSent(
        _ batch: [CommandRequest], _ connection: RedisConnection, _ failure: RedisConnection.Failure?
    ) {
        var replies = SentBatch(batch)
        do throws(RedisConnection.Failure) {
            if let failure { throw failure }
            for request in batch {
                var values: [RedisValue] = []
                values.reserveCapacity(request.commands.commands)
                for _ in 0..<request.commands.commands { values.append(try connection.reply()) }
                if replies.arrived(values) { inbox.finish(request, .success(values), isInFlight: true) }
            }
            plan.answered()
            let bytes = batch.reduce(0) { $0 + $1.commands.bytes.count }
            let commands = batch.reduce(0) { $0 + $1.commands.commands }
            inbox.update { state in
                state.inFlightRequests = 0
                state.bytesWritten += bytes
                state.commandsAnswered += commands
            }
            if replies.wantsReconnect { lose("server is loading or a replica") }
        } catch {
            lose(error.reason)
            for request in replies.lost() {
                inbox.finish(request, .failure(BrokerError(.outcomeUnknown, error.reason)))
            }
        }
        plan.sendAgain(replies.again)
    }
}
