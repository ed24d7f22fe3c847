import Streams
import LiveModel

/// Sends a command to the server that has its key. The keys of one call share a slot.
protocol CommandRoutes: Sendable {
    /// Returns one value for each command; error replies are values, too.
    func call(_ commands: CommandBuffer, key: String, isRepeatable: Bool) async throws(BrokerError) -> [RedisValue]
    /// Appends to streams of any slots.
    func append(_ appends: [StreamAppend]) async throws(BrokerError) -> [StreamID]
    func append(_ appends: [StreamAppend], completion: @escaping AppendCompletion)
    func makeReader(name: String) throws(BrokerError) -> any OwnedReader
    var state: BrokerState { get }
    /// Completes accepted calls, then ends its threads.
    func close() async
}

/// A reader whose threads the broker awaits when it closes.
protocol OwnedReader: StreamReader, AnyObject {
    func waitUntilEnded() async
}

extension CommandRoutes {
    func append(_ appends: [StreamAppend], completion: @escaping AppendCompletion) {
        Task {
            do throws(BrokerError) {
                completion(.success(try await append(appends)))
            } catch {
                completion(.failure(error))
            }
        }
    }

    /// Sends one command; throws its error reply.
    func value(
        _ command: CommandBuffer, key: String, isRepeatable: Bool = true
    ) async throws(BrokerError) -> RedisValue {
        let values = try await call(command, key: key, isRepeatable: isRepeatable)
        guard let value = values.first else { throw BrokerError(.protocolViolation, "no reply") }
        if case .error(let failure) = value { throw failure.brokerError }
        return value
    }

    /// Runs a script by its hash, or by its text if the server does not have it.
    func run(
        _ script: Script, keys: [String], _ arguments: [[UInt8]], isRepeatable: Bool
    ) async throws(BrokerError) -> RedisValue {
        guard let key = keys.first else { throw BrokerError(.protocolViolation, "a script without a key") }
        var command = CommandBuffer()
        script.write(into: &command, whole: false, keys: keys, arguments)
        let first = try await call(command, key: key, isRepeatable: isRepeatable).first
        if case .error(let failure) = first, failure.word == "NOSCRIPT" {
            var whole = CommandBuffer()
            script.write(into: &whole, whole: true, keys: keys, arguments)
            return try await value(whole, key: key, isRepeatable: isRepeatable)
        }
        if case .error(let failure) = first { throw failure.brokerError }
        return first ?? .null
    }
}

/// Returns the id in a reply to `XADD`.
func appendedID(_ value: RedisValue) throws(BrokerError) -> StreamID {
    if case .error(let failure) = value { throw failure.brokerError }
    guard let id = value.streamID else { throw BrokerError(.protocolViolation, "unreadable reply to XADD") }
    return id
}
