import Broker
import LiveModel
import Streams

/// Probes whether Redis serves a node's own streams: writes an entry that readers drop, and reads it. `StreamReading`
/// decides what that means.
///
/// A gateway uses its inbox, and its reader must bring the entry. Any other node has a stream of its own for this,
/// which expires. Bound: one entry in each round, trimmed with the rest.
struct StreamProbe: Sendable {
    private static let expireMs = 60_000

    let broker: any Broker
    let node: NodeID
    let inboxLengthMax: Int
    /// The number of probes that the gateway has read from its inbox; nil: the node is no gateway.
    let probesRead: (@Sendable () -> Int)?
    /// The number of reads of the worker's streams that failed.
    let failedReads: @Sendable () -> Int
    /// A node that drains deletes its inbox, and nothing may create it again.
    let isDraining: @Sendable () -> Bool

    func probe() async -> StreamReading.Finding {
        if isDraining() { return .skipped }
        do throws(BrokerError) {
            guard let probesRead else {
                let stream = broker.keys.probe(node: node.name)
                let id = try await append(to: stream, lengthMax: StreamAppend.lengthMaxFloor, expireMs: Self.expireMs)
                let newest = try await broker.newest(stream, before: StreamID.max, limit: 1)
                return .written(isReadBack: newest.contains { $0.id >= id })
            }
            _ = try await append(to: broker.keys.inbox(gateway: node.name), lengthMax: inboxLengthMax, expireMs: nil)
            return .queued(probesRead: probesRead())
        } catch {
            return StreamReading.Finding(error)
        }
    }

    private func append(to stream: String, lengthMax: Int, expireMs: Int?) async throws(BrokerError) -> StreamID {
        let fields = [(name: StreamField.probe, value: Array(node.name.utf8))]
        let ids = try await broker.append([
            StreamAppend(stream: stream, fields: fields, lengthMax: lengthMax, expireMs: expireMs)
        ])
        return ids.first ?? .zero
    }
}
