package import NIOCore
package import NIOHTTP1

/// What the server asks of the application. Both calls come on the connection's event loop and must not block.
package protocol HTTPHandler: AnyObject, Sendable {
    /// Answers through `exchange`, at once or later, from any thread.
    func handle(_ request: HTTPRequest, _ exchange: HTTPExchange)

    /// Asked for each well-formed WebSocket handshake (RFC 6455 section 4.2).
    func webSocket(_ request: HTTPRequest) -> WebSocketDecision
}

package enum WebSocketDecision: Sendable {
    /// The connection is answered with this and closed.
    case reject(HTTPResponseStatus, headers: HTTPHeaders = [:], body: ByteBuffer)
    /// `subprotocol` must be one of the offered ones. `handler` is called on the event loop after the 101 has been sent;
    /// it may send at once.
    case accept(
        subprotocol: String?, extraHeaders: HTTPHeaders = [:],
        handler: @Sendable (WebSocketConnection) -> any WebSocketHandler)
}

/// One WebSocket's application side. Every call comes on the connection's event loop.
package protocol WebSocketHandler: AnyObject {
    /// A whole text message, valid UTF-8.
    func received(text: ByteBuffer)
    /// A whole binary message.
    func received(binary: ByteBuffer)
    /// The last call, exactly once. `code` is the peer's close code (1005 for an empty close frame), or the one we closed
    /// it with for a protocol error (1002, 1007, 1009); nil: the connection broke off.
    func closed(code: UInt16?)
    /// Bytes that had been held back for a slow peer reached the kernel; `pendingBytes` is what still waits, 0 means that
    /// sends go out directly again.
    func writabilityChanged(pendingBytes: Int)
}

extension WebSocketHandler {
    package func writabilityChanged(pendingBytes: Int) {}
}
