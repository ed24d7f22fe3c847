import Streams
import Synchronization

/// A request on its way to Redis.
struct CommandRequest: Sendable {
    typealias Answer = Result<[RedisValue], BrokerError>
    typealias Completion = @Sendable (Answer) -> Void

    let commands: CommandBuffer
    /// Executing it twice does no harm.
    let isRepeatable: Bool
    let deadlineNs: UInt64
    /// Nil: nobody waits for the answer.
    let completion: Completion?
}

/// Where callers leave requests for the connection's thread; bounded by number and bytes from acceptance to answer.
///
/// While the thread has nothing to do it leaves the connection here, too (`lend`). Then the first caller sends its request
/// itself, and the thread, which wakes up meanwhile, reads the answer.
final class CommandInbox: Sendable {
    /// Where the connection is. One side has it at a time.
    private enum RetrySlot {
        case thread
        /// Not any more when it is no longer current: a former primary may still acknowledge.
        case lent(RedisConnection, isCurrent: @Sendable () -> Bool)
        /// A caller is sending.
        case caller
        case sent(Departed)
    }

    /// What a caller sent.
    struct Departed {
        let request: CommandRequest
        /// The connection broke.
        let failure: RedisConnection.Failure?
    }

    /// A larger request might have to wait for room in the socket's buffer.
    private static let callerBytesMax = 32 << 10

    private struct Shared {
        var requests: [CommandRequest] = []
        var seat = RetrySlot.thread
        var state = BrokerState()
        var closing: Closing?
        var hasEnded = false
        var closeWaiters: [CheckedContinuation<Void, Never>] = []
    }

    /// Why nothing more is accepted.
    struct Closing {
        /// What is told to those who come later.
        let error: BrokerError
        /// What has not been sent is given back at once, rather than finished.
        let isAbrupt: Bool
    }

    let wake: WakeFlag
    private let requestsMax: Int
    private let bytesMax: Int
    private let shared = Mutex(Shared())

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

    /// Nil: accepted, and the completion will be called. Else that is the caller's to do.
    func submit(_ request: CommandRequest) -> BrokerError? {
        let size = request.commands.bytes.count
        var isFirst = false
        var connection: RedisConnection?
        let refusal = shared.withLock { shared -> BrokerError? in
            if let closing = shared.closing { return closing.error }
            // A request larger than the bound may pass alone.
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
            if case .lent(let lent, let isCurrent) = shared.seat, isFirst, size <= Self.callerBytesMax, isCurrent(),
                // Nothing is in flight: it would be the server's end. The thread is about to find it out.
                !lent.isReadable
            {
                shared.seat = .caller
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
        let departed = Departed(request: request, failure: failure)
        shared.withLock { $0.seat = .sent(departed) }
    }

    /// The first reason stays.
    func beginClose(_ closing: Closing = Closing(error: BrokerError(.closed), isAbrupt: false)) {
        shared.withLock { if $0.closing == nil { $0.closing = closing } }
        wake.raise()
    }

    func waitUntilEnded() async {
        await withCheckedContinuation { continuation in
            let hasEnded = shared.withLock { shared in
                if !shared.hasEnded { shared.closeWaiters.append(continuation) }
                return shared.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    // MARK: The thread

    /// Waits for a request or the end of the connection, which is a caller's to send on meanwhile.
    /// - Returns: what a caller sent, and whether the socket is readable although nobody did.
    func lend(
        _ connection: RedisConnection, whileCurrent isCurrent: @escaping @Sendable () -> Bool
    ) -> (departed: Departed?, isReadable: Bool) {
        shared.withLock { $0.seat = .lent(connection, isCurrent: isCurrent) }
        let isReadable = wake.wait(socket: connection.fd, waitMs: nil).readable
        while true {
            let seat = shared.withLock { shared in
                let seat = shared.seat
                if case .caller = seat { return seat }
                shared.seat = .thread
                return seat
            }
            switch seat {
            case .sent(let departed): return (departed, false)
            // It raises the flag when it has sent.
            case .caller:
                _ = wake.wait(waitMs: nil)
                wake.lower()
            case .lent, .thread: return (nil, isReadable)
            }
        }
    }

    /// Moves what has arrived behind `waiting`; returns whether the inbox is closing (then nothing more arrives).
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
            // Before the caller can look.
            if isInFlight { shared.state.inFlightRequests -= 1 }
            shared.state.queuedRequests -= 1
            shared.state.queuedBytes -= request.commands.bytes.count
            if case .failure(let error) = answer, error.code == .outcomeUnknown { shared.state.requestsUnknown += 1 }
        }
        request.completion?(answer)
    }

    /// The thread is about to end; returns what those who still wait are told.
    func end() -> BrokerError {
        shared.withLock { shared in
            shared.state.connected = false
            return shared.closing?.error ?? BrokerError(.closed)
        }
    }

    func tellEnded() {
        let waiters = shared.withLock { shared in
            shared.hasEnded = true
            defer { shared.closeWaiters = [] }
            return shared.closeWaiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
