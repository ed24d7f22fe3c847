import Logging

/// The callers' side of the command connection (see `CommandFlights` for its thread).
final class CommandPipeline: Sendable {
    private let inbox: CommandInbox
    private let timeoutMs: Int

    init(_ configuration: RedisConfiguration, name: String, logger: Logger) throws(BrokerError) {
        let inbox = try CommandInbox(configuration)
        self.inbox = inbox
        timeoutMs = configuration.commandTimeoutMs
        try startThread(named: "redis-commands") {
            var flights = CommandFlights(inbox, configuration, name: name, logger: logger)
            flights.run()
        }
    }

    deinit { inbox.beginClose() }

    var state: BrokerState { inbox.state }

    /// Readers report their reconnects here, so that one snapshot shows all.
    func countReconnect() { inbox.update { $0.reconnects += 1 } }

    /// Answers with one value for each command, error replies included as values.
    func call(_ commands: CommandBuffer, isRepeatable: Bool) async throws(BrokerError) -> [RedisValue] {
        let answer: CommandRequest.Answer = await withCheckedContinuation { continuation in
            if let refusal = inbox.submit(request(commands, isRepeatable: isRepeatable, continuation)) {
                continuation.resume(returning: .failure(refusal))
            }
        }
        return try answer.get()
    }

    /// One command whose error reply is an error.
    func value(_ command: CommandBuffer, isRepeatable: Bool = true) async throws(BrokerError) -> RedisValue {
        let values = try await call(command, isRepeatable: isRepeatable)
        guard let value = values.first else { throw BrokerError(.protocolViolation, "no reply") }
        if case .error(let failure) = value { throw failure.brokerError }
        return value
    }

    /// Sends without caring for the answer; dropped when the queue is full.
    func send(_ commands: CommandBuffer) {
        _ = inbox.submit(request(commands, isRepeatable: true, nil))
    }

    /// Executes a script; when the server does not have it, sends it whole.
    func run(
        _ script: Script, keys: [String], _ arguments: [[UInt8]], isRepeatable: Bool
    ) async throws(BrokerError) -> RedisValue {
        var command = CommandBuffer()
        script.write(into: &command, whole: false, keys: keys, arguments)
        let first = try await call(command, isRepeatable: isRepeatable).first
        if case .error(let failure) = first, failure.word == "NOSCRIPT" {
            var whole = CommandBuffer()
            script.write(into: &whole, whole: true, keys: keys, arguments)
            return try await value(whole, isRepeatable: isRepeatable)
        }
        if case .error(let failure) = first { throw failure.brokerError }
        return first ?? .null
    }

    func beginClose() { inbox.beginClose() }

    func close() async {
        inbox.beginClose()
        await inbox.waitUntilEnded()
    }

    private func request(
        _ commands: CommandBuffer, isRepeatable: Bool,
        _ continuation: CheckedContinuation<CommandRequest.Answer, Never>?
    ) -> CommandRequest {
        CommandRequest(
            commands: commands, isRepeatable: isRepeatable, deadlineNs: addMs(timeoutMs, to: monotonicNs()),
            continuation: continuation)
    }
}
