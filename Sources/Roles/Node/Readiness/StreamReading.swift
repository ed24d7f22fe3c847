import Streams

/// Decides from the probes of a node's own streams whether Redis serves them. Pure: what a probe found and the time are
/// arguments.
struct StreamReading: Sendable {
    /// The result of one probe.
    enum Finding: Sendable {
        /// The entry was written, and reading the stream brought it or not.
        case written(isReadBack: Bool)
        /// The entry was written to the gateway's inbox, whose reader has brought this many so far.
        case queued(probesRead: Int)
        /// Redis answered, but refused.
        case refused(String)
        case silent
        /// The node drains, and nothing was written.
        case skipped

        init(_ error: BrokerError) {
            switch error.code {
            case .rejected, .outOfMemory: self = .refused("\(error)")
            default: self = .silent
            }
        }
    }

    enum Outcome: Sendable, Hashable {
        /// The node can write and read its streams.
        case served
        /// Redis answered, but refused.
        case refused(String)
        case silent
        /// The entry was written, and its reader has yet to bring it.
        case pending
    }

    /// The time for which a failed read of a worker counts; it tries again after 200 ms.
    static let failureMs: Int64 = 1_500
    /// Probes in a row whose entry is not read before Redis counts as refusing.
    static let unreadMax = 3

    private var probesRead = 0
    private var failedReads = 0
    private var failedMs: Int64?
    /// Probes in a row whose entry was not read.
    private var unread = 0

    /// - Parameter failed: the number of reads of the worker's streams that have failed so far.
    mutating func probed(_ finding: Finding, failedReads failed: Int, nowMs: Int64) -> Outcome {
        if failed > failedReads { (failedReads, failedMs) = (failed, nowMs) }
        switch finding {
        case .written(let isReadBack): return written(isReadBack: isReadBack, nowMs: nowMs)
        case .queued(let count):
            defer { probesRead = count }
            return written(isReadBack: count > probesRead, nowMs: nowMs)
        case .refused(let reason): return .refused(reason)
        case .silent: return .silent
        case .skipped: return .served
        }
    }

    private mutating func written(isReadBack: Bool, nowMs: Int64) -> Outcome {
        if let failedMs, nowMs - failedMs < Self.failureMs {
            return .refused("a stream of the worker's shards cannot be read")
        }
        unread = isReadBack ? 0 : min(unread + 1, Self.unreadMax)
        if isReadBack { return .served }
        return unread < Self.unreadMax ? .pending : .refused("the node's entries do not come back")
    }
}
