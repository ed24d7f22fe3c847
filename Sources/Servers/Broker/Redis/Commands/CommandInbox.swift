import Streams
import Synchronization

/// A request for Redis.
struct CommandRequest: Sendable {
    typealias Answer = Result<[RedisValue], BrokerError>
    typealias Completion = @Sendable (Answer) -> Void

    let commands: CommandBuffer
    /// Whether executing it twice is harmless.
    let isRepeatable: Bool
    let deadlineNs: UInt64
    /// Nil: the answer is ignored.
    let completion: Completion?
}

/// The queue of requests from callers to the connection's thread, bounded in number and bytes from acceptance to
/// answer.
///
/// While the thread is idle it lends the connection to the inbox. The first caller then sends its request itself, and
/// the thread, which wakes up meanwhile, reads the answer.
final class CommandInbox: Sendable {
    /// The side that has the connection.
    private enum Holder {
        case thread
        /// Unusable once it is not current, because a former primary may still acknowledge requests.
        case lent(RedisConnection, isCurrent: @Sendable () -> Bool)
        /// A caller is sending a request.
        case caller
        case sent(SentRequest)
    }

    /// A request that its caller sent itself.
    struct SentRequest {
        let request: CommandRequest
        /// The failure of the connection, if it failed.
        let failure: RedisConnection.Failure?
    }

    /// Larger requests go to the thread, because they might block on the socket's buffer.
    private static let callerBytesMax = 32 << 10

    private struct Shared {
        var requests: [CommandRequest] = []
        var holder = Holder.thread
        var state = BrokerState()
        var closing: Closing?
    }

    /// The reason that no more requests are accepted.
    struct Closing {
        /// The error of later requests.
        let error: BrokerError
        /// Whether requests not yet sent fail at once instead of being completed.
        let isAbrupt: Bool
    }

    let wake: WakeFlag
    private let requestsMax: Int
    private let bytesMax: Int
    private let shared = Mutex(Shared())
    private let ending = EndSignal()

    init(_ configuration: RedisConfiguration) throws(BrokerError) {
        wake = try WakeFlag()
        requestsMax = configuration.queueRequestsMax
        bytesMax = configuration.queueBytesMax
    }

    var state: BrokerState { shared.withLock { $0.state } }

    func update(_ change: (inout BrokerState) -> Void) {
        shared.withLock { change(&$0.state) }
    }

    // MARK: Callers

    /// - Returns: nil if the request was accepted and its completion will be called. Otherwise the caller must call it.
    func submit(_ request: CommandRequest) -> BrokerError? {
        let size = request.commands.bytes.count
        var isFirst = false
        var connection: RedisConnection?
        let refusal = shared.withLock { shared -> BrokerError? in
            if let closing = shared.closing { return closing.error }
            // A request larger than the limit passes alone.
            let isFull =
                shared.state.queuedRequests >= requestsMax
                || shared.state.queuedRequests > 0 && shared.state.queuedBytes + size > bytesMax
            if isFull {
                shared.state.requestsOverloaded += 1
                return BrokerError(.overloaded)
            }
            shared.state.queuedRequests += 1
            shared.state.queuedBytes += size
            isFirst = shared.requests.isEmpty
            if case .lent(let lent, let isCurrent) = shared.holder, isFirst, size <= Self.callerBytesMax, isCurrent(),
                // Nothing is in flight, so readable means closed by the server, which the thread is about to notice.
                !lent.isReadable
            {
                shared.holder = .caller
                shared.state.inFlightRequests = 1
                shared.state.sentByCallers += 1
                connection = lent
            } else {
                shared.requests.append(request)
            }
            return nil
        }
        if let connection { send(request, on: connection) }
        if isFirst { wake.raise() }
        return refusal
    }

    private func send(_ request: CommandRequest, on connection: RedisConnection) {
        var failure: RedisConnection.Failure?
        do throws(RedisConnection.Failure) {
            try connection.write(request.commands.bytes)
            try connection.flush()
        } catch {
            failure = error
        }
        let sent = SentRequest(request: request, failure: failure)
        shared.withLock { $0.holder = .sent(sent) }
    }

    /// Begins to close the inbox; the first call determines the reason.
    func beginClose(_ closing: Closing = Closing(error: BrokerError(.closed), isAbrupt: false)) {
        shared.withLock { if $0.closing == nil { $0.closing = closing } }
        wake.raise()
    }

    func waitUntilEnded() async { await ending.wait() }

    // MARK: The thread

    /// Lends the connection to callers and waits for a request or the end of the connection.
    /// - Returns: the request that a caller sent, or whether the socket is readable although none did.
    func lend(
        _ connection: RedisConnection, whileCurrent isCurrent: @escaping @Sendable () -> Bool
    ) -> (sent: SentRequest?, isReadable: Bool) {
        shared.withLock { $0.holder = .lent(connection, isCurrent: isCurrent) }
        let isReadable = wake.wait(socket: connection.fd, waitMs: nil).readable
        while true {
            let holder = shared.withLock { shared in
                let holder = shared.holder
                if case .caller = holder { return holder }
                shared.holder = .thread
                return holder
            }
            switch holder {
            case .sent(let sent): return (sent, false)
            // The caller raises the flag when it has sent its request.
            case .caller:
                _ = wake.wait(waitMs: nil)
                wake.lower()
            case .lent, .thread: return (nil, isReadable)
            }
        }
    }

    /// Appends what has arrived to `waiting`.
    /// - Returns: why the inbox is closing, if it is; nothing more arrives then.
    func take(into waiting: inout [CommandRequest]) -> Closing? {
        wake.lower()
        return shared.withLock { shared in
            if waiting.isEmpty {
                swap(&waiting, &shared.requests)
            } else {
                waiting.append(contentsOf: shared.requests)
                shared.requests.removeAll(keepingCapacity: true)
            }
            return shared.closing
        }
    }

    func finish(_ request: CommandRequest, _ answer: CommandRequest.Answer, isInFlight: Bool = false) {
        shared.withLock { shared in
            // Counted before the completion, so that the caller sees it.
            if isInFlight { shared.state.inFlightRequests -= 1 }
            shared.state.queuedRequests -= 1
            shared.state.queuedBytes -= request.commands.bytes.count
            if case .failure(let error) = answer, error.code == .outcomeUnknown { shared.state.requestsUnknown += 1 }
        }
        request.completion?(answer)
    }

    /// Ends the inbox, because the thread is about to end.
    /// - Returns: the error for requests that are still waiting.
    func end() -> BrokerError {
        shared.withLock { shared in
            shared.state.connected = false
            return shared.closing?.error ?? BrokerError(.closed)
        }
    }

    func ended() { ending.raise() }
}
