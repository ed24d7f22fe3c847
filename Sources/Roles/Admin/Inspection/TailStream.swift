import HTTPServer
import Inspection
import JSON
import LiveModel
import NIOCore
import NIOHTTP1
import Recording
import Synchronization

/// A tail as server-sent events (HTML Living Standard §9.2) on the admin port. What a slow reader cannot take is
/// counted, and the stream has the number.
///
/// `@unchecked Sendable`: `number`, `lastID` and `dropped` are touched on the exchange's event loop only.
final class TailStream: @unchecked Sendable {
    /// Bytes that wait for the reader; with more, entries are dropped.
    private static let bytesMax = 256 << 10
    /// Entries on their way to the event loop; with more, entries are dropped.
    private static let queuedMax = 1_000
    private static let keepAliveMs: Int64 = 15_000

    private let exchange: HTTPExchange
    private let queued = Atomic<Int>(0)
    private let unqueued = Atomic<Int>(0)
    private var number: UInt64?
    private var lastID = 0
    private var dropped = 0

    private init(_ exchange: HTTPExchange) {
        self.exchange = exchange
    }

    /// Opens a tail, which ends with the connection.
    /// - Throws: `.limitExceeded` if as many tails are open as may be.
    static func open(_ filter: TailFilter, _ recorder: NodeRecorder, _ exchange: HTTPExchange) throws(RequestError) {
        let stream = TailStream(exchange)
        guard let number = recorder.openTail(filter, { stream.offer($0) }) else {
            throw RequestError(
                .limitExceeded, "\(recorder.settings.tailsMax) tails are open on this node (inspect.tailsMax)")
        }
        exchange.eventLoop.execute {
            stream.number = number
            exchange.startStream(
                .ok,
                headers: [
                    "content-type": "text/event-stream", "cache-control": "no-cache", "x-accel-buffering": "no",
                ])
            exchange.write(ByteBuffer(string: ": tail of \(recorder.node)\n\n"))
            exchange.keepAlive(everyMs: keepAliveMs) {
                if exchange.pendingBytes == 0 { exchange.write(ByteBuffer(string: ":\n\n")) }
            }
            exchange.onClose { recorder.closeTail(number) }
        }
    }

    private func offer(_ entry: TailEntry) {
        guard queued.wrappingAdd(1, ordering: .relaxed).newValue <= Self.queuedMax else {
            queued.wrappingSubtract(1, ordering: .relaxed)
            unqueued.wrappingAdd(1, ordering: .relaxed)
            return
        }
        exchange.eventLoop.execute {
            self.queued.wrappingSubtract(1, ordering: .relaxed)
            self.write(entry)
        }
    }

    private func write(_ entry: TailEntry) {
        dropped += unqueued.exchange(0, ordering: .relaxed)
        guard !exchange.isClosed else { return }
        guard exchange.pendingBytes < Self.bytesMax else {
            dropped += 1
            return
        }
        if dropped > 0 {
            write("dropped", ["count": .int(Int64(dropped))])
            dropped = 0
        }
        write(entry.kind.rawValue, entry.json)
    }

    private func write(_ name: String, _ json: JSONObject) {
        lastID += 1
        var text = ByteBuffer(string: "event: \(name)\nid: \(lastID)\ndata: ")
        text.writeBytes(JSONValue.object(json).compactBytes)
        text.writeString("\n\n")
        exchange.write(text)
    }
}
