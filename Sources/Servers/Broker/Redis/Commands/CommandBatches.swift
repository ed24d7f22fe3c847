import Clocks
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
/// Never leaves its thread.
struct CommandBatches {
    private let inbox: CommandInbox
    private let configuration: RedisConfiguration
    private let resolver: any RedisEndpointResolver
    private let name: String
    private let logger: Logger
    private var connection: RedisConnection?
    private var server = ServerIdentity()
    private var resolverVersion = 0
    private var backoff: JitteredBackoff
    private var nextAttemptNs: UInt64 = 0
    /// Requests taken from the inbox. It bounds them, because it counts a request until it is answered.
    private var waiting: [CommandRequest] = []

    init(
        _ inbox: CommandInbox, _ configuration: RedisConfiguration, resolver: any RedisEndpointResolver, name: String,
        logger: Logger
    ) {
        self.inbox = inbox
        self.configuration = configuration
        self.resolver = resolver
        self.name = name
        self.logger = logger
        backoff = JitteredBackoff(minMs: configuration.reconnectMinMs, maxMs: configuration.reconnectMaxMs)
    }

    /// Runs until the inbox closes.
    mutating func run() {
        while true {
            let closing = inbox.take(into: &waiting)
            if let closing, waiting.isEmpty || connection == nil || closing.isAbrupt { break }
            noticeMove()
            if let connection {
                if waiting.isEmpty {
                    let (sent, isReadable) = inbox.lend(connection) { [resolver, resolverVersion] in
                        resolver.version == resolverVersion
                    }
                    if let sent {
                        batchSent([sent.request], connection, sent.failure)
                    } else if isReadable {
                        // Nothing is in flight, so the server closed the connection.
                        lose("closed by the server")
                    }
                } else {
                    flush(connection)
                }
            } else {
                failExpired()
                if MonotonicClock.nowNs() >= nextAttemptNs {
                    connect()
                } else {
                    let firstDeadlineNs = waiting.map(\.deadlineNs).min() ?? .max
                    _ = inbox.wake.wait(waitMs: msUntil(min(nextAttemptNs, firstDeadlineNs)))
                }
            }
        }
        connection = nil
        let reason = inbox.end()
        for request in waiting { inbox.finish(request, .failure(reason)) }
        waiting = []
        inbox.ended()
    }

    /// Connects to the new server if it has changed, without the back-off that the former one caused.
    private mutating func noticeMove() {
        guard resolver.version != resolverVersion else { return }
        resolverVersion = resolver.version
        if let connection, !resolver.isCurrent(connection.endpoint) { lose("no longer the primary") }
        backoff.reset()
        if connection == nil { nextAttemptNs = 0 }
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
            nextAttemptNs = addMs(backoff.nextMs(), to: MonotonicClock.nowNs())
        }
    }

    private mutating func lose(_ reason: String) {
        connection = nil
        resolver.failed()
        nextAttemptNs = addMs(backoff.nextMs(), to: MonotonicClock.nowNs())
        inbox.update { state in
            state.connected = false
            state.inFlightRequests = 0
            state.lastConnectError = reason
        }
        logger.warning("redis connection lost", metadata: ["reason": "\(reason)"])
    }

    private mutating func failExpired() {
        let now = MonotonicClock.nowNs()
        guard waiting.contains(where: { $0.deadlineNs <= now }) else { return }
        let reason = inbox.state.lastConnectError
        for request in waiting where request.deadlineNs <= now {
            inbox.finish(request, .failure(BrokerError(.unavailable, reason)))
        }
        waiting.removeAll { $0.deadlineNs <= now }
    }

    private mutating func flush(_ connection: RedisConnection) {
        failExpired()
        let batch = takeBatch()
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
        var answered = 0
        var again: [CommandRequest] = []
        do throws(RedisConnection.Failure) {
            if let failure { throw failure }
            for request in batch {
                var values: [RedisValue] = []
                values.reserveCapacity(request.commands.commands)
                for _ in 0..<request.commands.commands { values.append(try connection.reply()) }
                answered += 1
                if wantsReconnect(values) {
                    again.append(request)
                } else {
                    inbox.finish(request, .success(values), isInFlight: true)
                }
            }
            backoff.reset()
            let bytes = batch.reduce(0) { $0 + $1.commands.bytes.count }
            let commands = batch.reduce(0) { $0 + $1.commands.commands }
            inbox.update { state in
                state.inFlightRequests = 0
                state.bytesWritten += bytes
                state.commandsAnswered += commands
            }
            if !again.isEmpty { lose("server is loading or a replica") }
        } catch {
            lose(error.reason)
            for request in batch[answered...] {
                if request.isRepeatable {
                    again.append(request)
                } else {
                    inbox.finish(request, .failure(BrokerError(.outcomeUnknown, error.reason)))
                }
            }
        }
        waiting.insert(contentsOf: again, at: 0)
    }

    /// Takes the oldest waiting requests, as many as fit one batch, but at least one, however large.
    private mutating func takeBatch() -> [CommandRequest] {
        var count = 0
        var bytes = 0
        for request in waiting.prefix(configuration.batchRequestsMax) {
            bytes += request.commands.bytes.count
            if count > 0, bytes > configuration.batchBytesMax { break }
            count += 1
        }
        inbox.update { $0.inFlightRequests = count }
        if count == waiting.count {
            defer { waiting = [] }
            return waiting
        }
        defer { waiting.removeFirst(count) }
        return Array(waiting.prefix(count))
    }

    /// Whether nothing of the request was executed and it should be retried on a new connection.
    private func wantsReconnect(_ values: [RedisValue]) -> Bool {
        values.allSatisfy { value in
            if case .error(let failure) = value { return failure.wantsReconnect }
            return false
        }
    }
}
