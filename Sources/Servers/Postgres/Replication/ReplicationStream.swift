import CLibpq
import Clocks
import Glibc
import Synchronization
import Threads

/// The reading of a logical replication slot with `pgoutput`, on a thread of its own.
///
/// Connects, reads from where the server has the slot confirmed, and ends with the first error or `stop`. Bounds: one
/// chunk of messages at a time, and none while `setReading(false)`; the rest stays at the server.
package final class ReplicationStream: Sendable {
    package struct Settings: Sendable {
        package var connectTimeoutMs = 5_000
        /// The interval of messages to the server about the reader's position; it answers with its own position.
        package var statusMs = 1_000
        /// A server that sends nothing for this long, not even an answer, is given up.
        package var silenceMs = 60_000

        package init() {}
    }

    /// Calls on the thread.
    package struct Handlers: Sendable {
        /// Messages of the plugin, in order.
        let messages: @Sendable ([[UInt8]]) -> Void
        /// Everything before this position was sent.
        let reached: @Sendable (UInt64) -> Void
        /// The last call, unless the reading was stopped.
        let ended: @Sendable (PostgresError) -> Void

        package init(
            messages: @escaping @Sendable ([[UInt8]]) -> Void, reached: @escaping @Sendable (UInt64) -> Void,
            ended: @escaping @Sendable (PostgresError) -> Void
        ) {
            self.messages = messages
            self.reached = reached
            self.ended = ended
        }
    }

    private struct Orders {
        var confirmed: UInt64 = 0
        var isReading = true
        var isStopped = false
    }

    /// Messages handed over together, and their bytes.
    private static let chunkMax = 256
    private static let chunkBytesMax = 1 << 20

    private let connectionString: String
    private let applicationName: String
    private let command: String
    private let settings: Settings
    private let handlers: Handlers
    private let orders = Mutex(Orders())
    private let wakeup = Wakeup()

    /// - Parameters:
    ///   - configuration: of the database; a connection of its own is opened.
    ///   - slot: its name, of lower-case letters, digits and underscores.
    package init(
        _ configuration: PostgresConfiguration, slot: String, publications: [String], settings: Settings,
        handlers: Handlers
    ) {
        connectionString = configuration.connectionString
        applicationName = configuration.applicationName
        let names = publications.map { #""\#($0)""# }.joined(separator: ",")
        command = """
            START_REPLICATION SLOT "\(slot)" LOGICAL 0/0 (proto_version '1', publication_names '\(names)', \
            messages 'true')
            """
        self.settings = settings
        self.handlers = handlers
    }

    /// Starts the thread. Call once.
    package func start() {
        let isStarted = startThread(named: "wal-reader") { [self] in
            if let error = run(), !orders.withLock({ $0.isStopped }) { handlers.ended(error) }
        }
        if !isStarted { handlers.ended(PostgresError(.connectionFailed, "the system has no thread left")) }
    }

    /// Tells the server, soon, that it may remove what lies before `position`.
    package func confirm(_ position: UInt64) {
        orders.withLock { $0.confirmed = max($0.confirmed, position) }
        wakeup.signal()
    }

    /// Whether to read on.
    package func setReading(_ isReading: Bool) {
        orders.withLock { $0.isReading = isReading }
        wakeup.signal()
    }

    /// Ends the reading soon; `ended` is not called.
    package func stop() {
        orders.withLock { $0.isStopped = true }
        wakeup.signal()
    }

    // MARK: On the thread

    /// - Returns: the reason of the end; nil if it was stopped.
    private func run() -> PostgresError? {
        guard
            let connection = ReplicationConnection(
                connectionString, applicationName: applicationName, timeoutMs: settings.connectTimeoutMs)
        else { return PostgresError(.connectionFailed, "no memory for a connection") }
        if let error = connection.start(command) { return error }
        var status = StandbyStatus(received: 0, confirmed: 0, wantsReply: true)
        var lastStatusMs: Int64 = 0
        var lastDataMs = MonotonicClock.nowMs()
        var told: UInt64 = 0
        while true {
            let orders = orders.withLock { $0 }
            let nowMs = MonotonicClock.nowMs()
            if orders.isStopped || orders.confirmed > told || status.wantsReply
                || nowMs - lastStatusMs >= Int64(settings.statusMs)
            {
                (status.confirmed, told, lastStatusMs) = (orders.confirmed, orders.confirmed, nowMs)
                status.wantsReply = !orders.isStopped
                guard connection.send(status) else { return connection.error }
                status.wantsReply = false
            }
            if orders.isStopped { return nil }
            if orders.isReading {
                switch connection.receive(countMax: Self.chunkMax, bytesMax: Self.chunkBytesMax) {
                case .failure(let error): return error
                case .success(let frames) where !frames.isEmpty:
                    lastDataMs = nowMs
                    handle(frames, &status)
                    continue
                case .success: break
                }
                if nowMs - lastDataMs > Int64(settings.silenceMs) {
                    return PostgresError(.connectionLost(outcomeUnknown: false), "the server sends nothing")
                }
            } else {
                lastDataMs = nowMs
            }
            guard
                connection.wait(
                    reads: orders.isReading, wakeup, ms: Int32(max(1, lastStatusMs + Int64(settings.statusMs) - nowMs)))
            else { return connection.error }
        }
    }

    private func handle(_ frames: [ReplicationFrame], _ status: inout StandbyStatus) {
        var messages: [[UInt8]] = []
        func handOver() {
            if !messages.isEmpty { handlers.messages(messages) }
            messages = []
        }
        for frame in frames {
            switch frame {
            case .data(let message): messages.append(message)
            case .keepalive(let position, let wantsReply):
                handOver()
                status.received = max(status.received, position)
                status.wantsReply = status.wantsReply || wantsReply
                handlers.reached(position)
            }
        }
        handOver()
    }
}
