/// Where the server listens and every bound it keeps. A limit that a peer runs into is answered with the status or
/// close code named beside it.
package struct HTTPServerConfiguration: Sendable {
    package var host = "127.0.0.1"
    /// 0 picks a free port; `HTTPServer.start()` returns the one bound.
    package var port = 0
    /// Event loop threads when the server makes its own group.
    package var eventLoops = 1
    package var backlog: Int32 = 1024
    /// Open connections of any kind; more are answered 503 and closed.
    package var connectionsMax = 16_384

    // MARK: HTTP/1.1

    /// Request target alone: 414.
    package var targetBytesMax = 8 * 1024
    /// Request target and all header fields: 431.
    package var headerBytesMax = 16 * 1024
    package var headerFieldsMax = 100
    /// Requests of one connection that wait for those before them; more cut the peer off.
    package var pipelinedMax = 256
    /// Request body, checked while it streams in: 413.
    package var bodyBytesMax = 1024 * 1024
    /// Bodies of all connections together, until they are answered: 503. Messages over WebSockets that are still arriving,
    /// too: 1013.
    package var bodiesBytesMax = 256 * 1024 * 1024
    /// From the first byte of a request (or from accept) to the end of its header: 408.
    package var headerTimeoutMs: Int64 = 10_000
    /// From the end of the header to the end of the body: 408.
    package var bodyTimeoutMs: Int64 = 30_000
    /// A kept-alive connection without a request is closed silently.
    package var idleTimeoutMs: Int64 = 75_000
    /// A peer that takes nothing of what we hold for it for this long is cut off.
    package var writeStallTimeoutMs: Int64 = 30_000
    /// How long (and how much) we go on reading after our last word, so that the peer gets to read it before a reset.
    package var lingerTimeoutMs: Int64 = 1_000
    package var lingerBytesMax = 256 * 1024
    /// What we hold for one peer that reads slowly; one write past it cuts the peer off. One answer is always allowed.
    package var pendingBytesMax = 8 * 1024 * 1024
    /// What the kernel holds for one peer (SO_SNDBUF; it takes twice that); nil leaves it to the kernel, up to its
    /// `tcp_wmem`.
    package var kernelSendBufferBytes: Int?

    // MARK: WebSocket

    /// One message, all its fragments together: 1009.
    package var webSocketFrameBytesMax = 256 * 1024
    package var webSocketPingIntervalMs: Int64 = 25_000
    /// From our ping to any sign of life; a peer without one is cut off.
    package var webSocketPongTimeoutMs: Int64 = 20_000
    /// From our close frame to the peer's.
    package var webSocketCloseTimeoutMs: Int64 = 5_000
    /// While more than this waits for a peer, nothing more is read from it (a ping flood cannot grow our answers).
    package var webSocketReadPauseBytes = 64 * 1024

    package init() {}

    /// How often a loop looks at its deadlines: fine enough for the shortest of them, never busier than needed.
    var tickMs: Int64 {
        let shortest = [
            headerTimeoutMs, bodyTimeoutMs, idleTimeoutMs, writeStallTimeoutMs, lingerTimeoutMs,
            webSocketPingIntervalMs, webSocketPongTimeoutMs, webSocketCloseTimeoutMs,
        ].min()!
        return Swift.max(5, Swift.min(500, shortest / 4))
    }
}

/// A moment's counts, for metrics and the admin page.
package struct HTTPServerCounters: Sendable, Equatable {
    package var connectionsOpen = 0
    package var connectionsTotal = 0
    package var connectionsRefused = 0
    package var requestsTotal = 0
    package var webSocketsOpen = 0
    package var webSocketsTotal = 0
    /// Requests and WebSockets that ended with an error answer of this module's own (400, 408, 413, 1002, …).
    package var peerErrorsTotal = 0
    /// Peers cut off: no pong, no progress, or past `pendingBytesMax`. Over HTTP/2 also each call that is reset because
    /// nothing of it is read, and connections with more mistakes or cancellations than one may have.
    package var peersCutOffTotal = 0
}
