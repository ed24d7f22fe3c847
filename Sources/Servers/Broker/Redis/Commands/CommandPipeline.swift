import Clocks
import Streams
import Logging

/// The callers' side of a server's command connection; `CommandBatches` is its thread.
final class CommandPipeline: Sendable {
    private let inbox: CommandInbox
    private let timeoutMs: Int

    init(
        _ configuration: RedisConfiguration, resolver: any RedisEndpointResolver, name: String, logger: Logger
    ) throws(BrokerError) {
        let inbox = try CommandInbox(configuration)
        self.inbox = inbox
        timeoutMs = configuration.commandTimeoutMs
        resolver.watch(inbox.wake)
        try startRedisThread(named: "redis-commands") {
            var batches = CommandBatches(inbox, configuration, resolver: resolver, name: name, logger: logger)
            batches.run()
        }
    }

    deinit { inbox.beginClose() }

    var state: BrokerState { inbox.state }

    /// Counts a reader's reconnect here, so that one snapshot has all counts.
    func countReconnect() { inbox.update { $0.reconnects += 1 } }

    /// Returns one value for each command; error replies are values, too.
    /// - Parameter deadlineNs: nil uses the command timeout.
    func call(
        _ commands: CommandBuffer, isRepeatable: Bool, deadlineNs: UInt64? = nil
    ) async throws(BrokerError) -> [RedisValue] {
        let answer: CommandRequest.Answer = await withCheckedContinuation { continuation in
            call(commands, isRepeatable: isRepeatable, deadlineNs: deadlineNs) { continuation.resume(returning: $0) }
        }
        return try answer.get()
    }

    /// Makes a call with a callback, which is called exactly once: on the connection's thread, or by this method if the
    /// request is refused.
    func call(
        _ commands: CommandBuffer, isRepeatable: Bool, deadlineNs: UInt64? = nil,
        completion: @escaping CommandRequest.Completion
    ) {
        let request = request(commands, isRepeatable: isRepeatable, deadlineNs: deadlineNs, completion)
        if let refusal = inbox.submit(request) { completion(.failure(refusal)) }
    }

    /// Sends commands and ignores the answer. They are dropped if the queue is full.
    func send(_ commands: CommandBuffer) {
        _ = inbox.submit(request(commands, isRepeatable: true, deadlineNs: nil, nil))
    }

    func beginClose() { inbox.beginClose() }

    /// Ends use of the server: requests not yet sent fail with `.unavailable`, to be sent elsewhere.
    func retire() {
        inbox.beginClose(.init(error: BrokerError(.unavailable, "the server was replaced"), isAbrupt: true))
    }

    func close() async {
        inbox.beginClose()
        await inbox.waitUntilEnded()
    }

    private func request(
        _ commands: CommandBuffer, isRepeatable: Bool, deadlineNs: UInt64?,
        _ completion: CommandRequest.Completion?
    ) -> CommandRequest {
        CommandRequest(
            commands: commands, isRepeatable: isRepeatable,
            deadlineNs: deadlineNs ?? addMs(timeoutMs, to: MonotonicClock.nowNs()),
            completion: completion)
    }
}
