package import NIOCore
package import NIOHTTP1

/// The application behind an `HTTPServer`. Both methods are called on the connection's event loop and must not block.
package protocol HTTPHandler: AnyObject, Sendable {
    /// Responds through `exchange`, at once or later, from any thread.
    func handle(_ request: HTTPRequest, _ exchange: HTTPExchange)

    /// Decides on a well-formed WebSocket handshake (RFC 6455 section 4.2).
    func webSocket(_ request: HTTPRequest) -> WebSocketDecision

    /// Returns further headers for the server's own error responses, such as those that let a browser's page read them.
    /// - Parameter origin: the request's `Origin`; nil also if it was not read.
    func failureHeaders(origin: String?) -> HTTPHeaders
}

extension HTTPHandler {
    package func failureHeaders(origin: String?) -> HTTPHeaders { [:] }
}

/// The application's response to a WebSocket handshake.
package enum WebSocketDecision: Sendable {
    /// Sends this response and closes the connection.
    case reject(HTTPResponseStatus, headers: HTTPHeaders = [:], body: ByteBuffer)
    /// Opens the WebSocket. `subprotocol` must be one that the client offered. `handler` is called on the event loop
    /// after the 101 has been sent and may send at once.
    case accept(
        subprotocol: String?, extraHeaders: HTTPHeaders = [:],
        handler: @Sendable (WebSocketConnection) -> any WebSocketHandler)
}

/// The application's side of one WebSocket. Every method is called on the connection's event loop.
package protocol WebSocketHandler: AnyObject {
    /// Receives a complete text message, valid UTF-8.
    func received(text: ByteBuffer)
    /// Receives a complete binary message.
    func received(binary: ByteBuffer)
    /// Called last, exactly once. `code` is the peer's close code (1005 for an empty close frame), or the one sent for
    /// a protocol error (1002, 1007, 1009); nil if the connection was lost.
    func closed(code: UInt16?)
    /// Called when bytes queued for a slow peer reached the kernel. `pendingBytes` are still queued; 0 means that sends
    /// are direct again.
    func writabilityChanged(pendingBytes: Int)
    /// Called once when the time given to `WebSocketConnection.wake` has come.
    func deadlineReached(nowMs: Int64)
}

extension WebSocketHandler {
    package func writabilityChanged(pendingBytes: Int) {}
    package func deadlineReached(nowMs: Int64) {}
}
