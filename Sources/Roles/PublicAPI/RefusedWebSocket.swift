import HTTPServer
import NIOCore

/// Closes a WebSocket whose subprotocols are not supported.
final class RefusedWebSocket: WebSocketHandler {
    init(_ connection: WebSocketConnection, code: UInt16, reason: String) {
        connection.close(code: code, reason: reason)
    }

    func received(text: ByteBuffer) {}
    func received(binary: ByteBuffer) {}
    func closed(code: UInt16?) {}
}
