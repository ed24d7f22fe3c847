import HTTPServer
import Inspection
import JSON
import LiveModel
import NIOCore
import Recording
import Synchronization

/// A tail as server-sent events on the admin port. What a slow reader cannot take is counted by node, and the stream
/// has the number.
///
/// `@unchecked Sendable`: `lastID` and `dropped` are touched on the exchange's event loop only.
final class TailStream: @unchecked Sendable {
    /// Bytes that wait for the reader; with more, entries are dropped.
    private static let bytesMax = 256 << 10

    /// A node whose entries come into the stream. Each has a bound of its own, so that none crowds out another.
    final class Source: Sendable {
        /// Entries on their way to the event loop; with more, entries are dropped.
        fileprivate static let queuedMax = 1_000

        let node: NodeID
        fileprivate let queued = Atomic<Int>(0)
        fileprivate let unqueued = Atomic<Int>(0)

        init(_ node: NodeID) {
            self.node = node
        }
    }

    private let exchange: HTTPExchange
    private var lastID = 0
    /// Entries that were left out since the stream last said so, by node.
    private var dropped: [NodeID: Int] = [:]

    private init(_ exchange: HTTPExchange) {
        self.exchange = exchange
    }

    /// Opens a tail, which ends with the connection.
    /// - Parameters:
    ///   - recorder: of this node; nil if its entries are not wanted.
    ///   - others: adds the entries of other nodes until its task is cancelled; nil: none.
    /// - Throws: `.limitExceeded` if as many tails are open as may be.
    static func open(
        _ filter: TailFilter, _ recorder: NodeRecorder, isOwnWanted: Bool = true, _ exchange: HTTPExchange,
        others: (@Sendable (TailStream) async -> Void)? = nil
    ) throws(RequestError) {
        let stream = TailStream(exchange)
        let own = Source(recorder.node)
        // A tail of other nodes counts here, too: it has connections to them.
        guard
            let number = recorder.openTail(filter, { if isOwnWanted { stream.offer($0.kind.rawValue, $0.json, own) } })
        else {
            throw RequestError(
                .limitExceeded, "\(recorder.settings.tailsMax) tails are open on this node (inspect.tailsMax)")
        }
        exchange.eventLoop.execute {
            exchange.startEvents("tail of \(recorder.node)")
            let task = others.map { others in Task { await others(stream) } }
            exchange.onClose {
                task?.cancel()
                recorder.closeTail(number)
            }
        }
    }

    /// Adds an entry, unless too many of the node wait.
    func offer(_ name: String, _ json: JSONObject, _ source: Source) {
        guard source.queued.wrappingAdd(1, ordering: .relaxed).newValue <= Source.queuedMax else {
            source.queued.wrappingSubtract(1, ordering: .relaxed)
            source.unqueued.wrappingAdd(1, ordering: .relaxed)
            return
        }
        exchange.eventLoop.execute {
            source.queued.wrappingSubtract(1, ordering: .relaxed)
            self.take(name, json, source)
        }
    }

    private func take(_ name: String, _ json: JSONObject, _ source: Source) {
        let unqueued = source.unqueued.exchange(0, ordering: .relaxed)
        if unqueued > 0 { dropped[source.node, default: 0] += unqueued }
        guard !exchange.isClosed else { return }
        guard exchange.pendingBytes < Self.bytesMax else {
            dropped[source.node, default: 0] += 1
            return
        }
        for (node, count) in dropped.sorted(by: { $0.key < $1.key }) {
            write("dropped", ["node": .string(node.name), "count": .int(Int64(count))])
        }
        dropped = [:]
        write(name, json)
    }

    private func write(_ name: String, _ json: JSONObject) {
        lastID += 1
        exchange.writeEvent(name, id: lastID, JSONValue.object(json).compactBytes)
    }
}
