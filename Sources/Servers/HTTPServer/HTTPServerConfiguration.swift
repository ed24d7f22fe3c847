/// The server's address and limits. Beside each limit stands the status or close code that a peer gets for exceeding
/// it.
package struct HTTPServerConfiguration: Sendable {
    package var host = "127.0.0.1"
    /// The port; 0 picks a free one, which `HTTPServer.start()` returns.
    package var port = 0
    /// Event loop threads if the server makes its own group.
    package var eventLoops = 1
    package var backlog: Int32 = 1024
    /// Open connections of any kind; more are answered 503 and closed.
    package var connectionsMax = 20_000
    /// Connections of one address; more are answered 503 and closed. 0: no limit.
    package var connectionsPerAddressMax = 6_000

    /// Compression of results for clients that accept it; nil: none.
    package var compression: CompressionConfiguration?

    // MARK: HTTP/1.1

    /// Request target alone: 414.
    package var targetBytesMax = 8 * 1024
    /// Request target and all header fields: 431.
    package var headerBytesMax = 32 * 1024
    package var headerFieldsMax = 100
    /// Pipelined requests waiting on one connection; more close it.
    package var pipelinedMax = 256
    /// Requests that each event loop keeps to recognize when they are repeated; 0: none.
    package var repeatedRequestsMax = 512
    /// Request body, checked while it streams in: 413.
    package var bodyBytesMax = 4 * 1024 * 1024
    /// Bodies of all connections together until they are answered: 503. Includes incomplete WebSocket messages: 1013.
    package var bodiesBytesMax = 256 * 1024 * 1024
    /// Time from the first byte of a request (or from accept) to the end of its header: 408.
    package var headerTimeoutMs: Int64 = 10_000
    /// Time from the end of the header to the end of the body: 408.
    package var bodyTimeoutMs: Int64 = 30_000
    /// Time after which a kept-alive connection without a request is closed silently.
    package var idleTimeoutMs: Int64 = 75_000
    /// Time after which a peer that accepts none of its queued bytes is cut off.
    package var writeStallTimeoutMs: Int64 = 30_000
    /// Limits up to which input is still read after the final response, so that the peer can read it before a reset.
    package var linger = Discard(timeoutMs: 1_000, bytesMax: 256 * 1024)
    /// The same after the refusal of a request: many clients write the whole request before they read, and would get a
    /// broken connection in place of the response.
    package var refusedInput = Discard(timeoutMs: 10_000, bytesMax: 64 * 1024 * 1024)
    /// Bytes queued for one slow peer; a write beyond them cuts it off. One response is always allowed.
    package var pendingBytesMax = 8 * 1024 * 1024
    /// The kernel's send buffer for one peer (SO_SNDBUF, which the kernel doubles); nil leaves it to the kernel, up to
    /// its `tcp_wmem`.
    package var kernelSendBufferBytes: Int?

    // MARK: WebSocket

    /// One message with all its fragments: 1009.
    package var webSocketFrameBytesMax = 1024 * 1024
    package var webSocketPingIntervalMs: Int64 = 25_000
    /// Time from a ping to any input; a peer that sends none is cut off.
    package var webSocketPongTimeoutMs: Int64 = 10_000
    /// Time from our close frame to the peer's.
    package var webSocketCloseTimeoutMs: Int64 = 5_000
    /// Bytes queued for a peer above which nothing is read from it, so a ping flood cannot grow our responses.
    package var webSocketReadPauseBytes = 64 * 1024

    /// Frames per second of one peer, and those that it may send at once. Beyond that nothing is read from it for a
    /// while; 1008 if a single read holds twice as many. 0: no limit.
    package var webSocketFramesPerSecond = 200
    package var webSocketFramesBurst = 2_000

    /// Bounds of input that is read and dropped. The connection closes at the first that is reached.
    package struct Discard: Sendable {
        package var timeoutMs: Int64
        package var bytesMax: Int
    }

    package init() {}

    /// The interval at which a loop checks its deadlines: a quarter of the shortest, within bounds.
    var tickMs: Int64 {
        let shortest = [
            headerTimeoutMs, bodyTimeoutMs, idleTimeoutMs, writeStallTimeoutMs, linger.timeoutMs,
            webSocketPingIntervalMs, webSocketPongTimeoutMs, webSocketCloseTimeoutMs,
        ].min()!
        return Swift.max(5, Swift.min(500, shortest / 4))
    }
}

/// A snapshot of the server's counters, for metrics and `/admin/status`.
package struct HTTPServerCounters: Sendable, Equatable {
    package var connectionsOpen = 0
    package var connectionsTotal = 0
    package var connectionsRefused = 0
    package var requestsTotal = 0
    package var webSocketsOpen = 0
    package var webSocketsTotal = 0
    /// Requests and WebSockets that this module ended with an error (400, 408, 413, 1002, …).
    package var peerErrorsTotal = 0
    /// Peers cut off: no pong, no progress, or past `pendingBytesMax`. For HTTP/2 also each call reset because nothing
    /// of it is read, and connections with too many errors or cancellations.
    package var peersCutOffTotal = 0
    package var compression = CompressionCounters()
}
