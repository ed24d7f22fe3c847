import Broker
import Clocks
import LiveModel
import Streams

/// Checks that Redis serves a node's own streams: writes an entry that readers drop, and expects to read it.
///
/// A gateway uses its inbox, and its reader must bring the entry. Any other node has a stream of its own for this,
/// which expires. Bound: one entry in each round, trimmed with the rest.
struct StreamProbe: Sendable {
    enum Outcome: Sendable {
        /// The node can write and read its streams.
        case served
        /// Redis answered, but refused.
        case refused(String)
        case silent
        /// The entry was written, and its reader has yet to bring it.
        case pending
    }

    /// What the last rounds found.
    struct Reading {
        fileprivate var probesRead = 0
        fileprivate var failedReads = 0
        fileprivate var failedMs: Int64?
        /// Rounds in a row whose entry was not read.
        fileprivate var unread = 0
    }

    /// The time for which a failed read of a worker counts; it tries again after 200 ms.
    private static let failureMs: Int64 = 1_500
    private static let expireMs = 60_000
    /// Rounds in a row whose entry is not read before Redis counts as refusing.
    private static let unreadMax = 3

    let broker: any Broker
    let node: NodeID
    let inboxLengthMax: Int
    /// The number of probes that the gateway has read from its inbox; nil: the node is no gateway.
    let probesRead: (@Sendable () -> Int)?
    /// The number of reads of the worker's streams that failed.
    let failedReads: @Sendable () -> Int
    /// A node that drains deletes its inbox, and nothing may create it again.
    let isDraining: @Sendable () -> Bool

    func round(_ reading: inout Reading) async -> Outcome {
        if isDraining() { return .served }
        let failed = failedReads()
        let nowMs = MonotonicClock.nowMs()
        if failed > reading.failedReads { (reading.failedReads, reading.failedMs) = (failed, nowMs) }
        do throws(BrokerError) {
            let isReadBack = try await write(&reading)
            if let failedMs = reading.failedMs, nowMs - failedMs < Self.failureMs {
                return .refused("a stream of the worker's shards cannot be read")
            }
            reading.unread = isReadBack ? 0 : min(reading.unread + 1, Self.unreadMax)
            if isReadBack { return .served }
            return reading.unread < Self.unreadMax ? .pending : .refused("the node's entries do not come back")
        } catch {
            switch error.code {
            case .rejected, .outOfMemory: return .refused("\(error)")
            default: return .silent
            }
        }
    }

    /// - Returns: whether an entry was read back.
    private func write(_ reading: inout Reading) async throws(BrokerError) -> Bool {
        guard let probesRead else {
            let stream = broker.keys.probe(node: node.name)
            let id = try await append(to: stream, lengthMax: StreamAppend.lengthMaxFloor, expireMs: Self.expireMs)
            return try await broker.newest(stream, before: StreamID.max, limit: 1).contains { $0.id >= id }
        }
        _ = try await append(to: broker.keys.inbox(gateway: node.name), lengthMax: inboxLengthMax, expireMs: nil)
        let count = probesRead()
        defer { reading.probesRead = count }
        return count > reading.probesRead
    }

    private func append(to stream: String, lengthMax: Int, expireMs: Int?) async throws(BrokerError) -> StreamID {
        let fields = [(name: StreamField.probe, value: Array(node.name.utf8))]
        let ids = try await broker.append([
            StreamAppend(stream: stream, fields: fields, lengthMax: lengthMax, expireMs: expireMs)
        ])
        return ids.first ?? .zero
    }
}
