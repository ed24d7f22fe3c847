import Streams
import Logging

/// The callers' side of one server's command connection (see `CommandBatches` for its thread).
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
            var flights = CommandBatches(inbox, configuration, resolver: resolver, name: name, logger: logger)
            flights.run()
        }
    }

    deinit { inbox.beginClose() }

    var state: BrokerState { inbox.state }

    /// Readers report their reconnects here, so that one snapshot shows all.
    func countReconnect() { inbox.update { $0.reconnects += 1 } }

    /// Answers with one value for each command, error replies included as values.
    /// - Parameter deadlineNs: nil: the command time-out from now.
    func call(
        _ commands: CommandBuffer, isRepeatable: Bool, deadlineNs: UInt64? = nil
    ) async throws(BrokerError) -> [RedisValue] {
        let answer: CommandRequest.Answer = await withCheckedContinuation { continuation in
            call(commands, isRepeatable: isRepeatable, deadlineNs: deadlineNs) { continuation.resume(returning: $0) }
        }
        return try answer.get()
    }

    /// The same with a callback, called exactly once: on the connection's thread, or here when refused.
    func call(
        _ commands: CommandBuffer, isRepeatable: Bool, deadlineNs: UInt64? = nil,
        completion: @escaping CommandRequest.Completion
    ) {
        let request = request(commands, isRepeatable: isRepeatable, deadlineNs: deadlineNs, completion)
        if let refusal = inbox.submit(request) { completion(.failure(refusal)) }
    }

    /// Sends without caring for the answer; dropped when the queue is full.
    func send(_ commands: CommandBuffer) {
        _ = inbox.submit(request(commands, isRepeatable: true, deadlineNs: nil, nil))
    }

    func beginClose() { inbox.beginClose() }

    /// The server is not asked any more: what it has not been sent fails with `.unavailable`, to be sent elsewhere.
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
            deadlineNs: deadlineNs ?? addMs(timeoutMs, to: monotonicNs()),
            completion: completion)
    }
}
