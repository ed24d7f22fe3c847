import HTTPServer
import NIOCore
import NIOHTTP1

/// Server-sent events (HTML Living Standard §9.2) on the admin port.
extension HTTPExchange {
    private static let keepAliveMs: Int64 = 15_000
    /// The longest that a stream of a user lasts, however long the token: 30 days.
    private static let streamMsMax: Int64 = 30 * 86_400_000
    private static let streamMsMin: Int64 = 1_000

    /// Starts an event stream with a comment, and goes on with empty ones. On the event loop.
    func startEvents(_ comment: String) {
        startStream(
            .ok,
            headers: [
                "content-type": "text/event-stream", "cache-control": "no-cache", "x-accel-buffering": "no",
            ])
        isAbandonedAtEnd = true
        write(ByteBuffer(string: ": \(comment)\n\n"))
        keepAlive(everyMs: Self.keepAliveMs) { [weak self] in
            if let self, pendingBytes == 0 { write(ByteBuffer(string: ":\n\n")) }
        }
    }

    /// - Parameter data: JSON without line ends.
    func writeEvent(_ name: String, id: Int? = nil, _ data: [UInt8]) {
        var text = ByteBuffer()
        text.reserveCapacity(data.count + name.utf8.count + 40)
        text.writeString("event: \(name)\n")
        if let id { text.writeString("id: \(id)\n") }
        text.writeString("data: ")
        text.writeBytes(data)
        text.writeString("\n\n")
        write(text)
    }

    /// Ends an event stream when the token of its reader expires. A token that is only admitted for its leeway gets a
    /// report.
    func endStream(with caller: AdminCaller?, nowMs: Int64) {
        guard let expiresAtMs = caller?.expiresAtMs else { return }
        let leftMs = min(max(Self.streamMsMin, expiresAtMs - nowMs), Self.streamMsMax)
        eventLoop.execute { [weak self] in
            guard let self, !isClosed else { return }
            let end = eventLoop.scheduleTask(in: .milliseconds(leftMs)) { [weak self] in self?.abandonStream() }
            onClose { end.cancel() }
        }
    }
}
