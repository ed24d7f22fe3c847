package import HTTPServer
package import LiveModel
package import NIOCore
package import Sessions

/// The connection of a session: a WebSocket or a gRPC stream. Used on its event loop only.
package protocol SessionConnection: AnyObject {
    var eventLoop: any EventLoop { get }
    /// The executor for tasks that work for this connection.
    var taskExecutor: LoopTaskExecutor { get }
    /// Bytes accepted from the session that the kernel, or the peer's window if there is one, has not taken yet.
    var pendingBytes: Int { get }

    /// Sends one complete message.
    func send(message: ByteBuffer)
    /// Sends one complete message that carries a result, compressed if the client accepts that.
    func send(result: ByteBuffer)
    /// Sends a result as a message of the protocol; its body is shared.
    func send(_ shared: SharedResult, id: String, as format: ResultFormat)
    /// Sends a message in two parts; the second one is shared.
    func send(prefix: [UInt8], shared: SharedBody)
    /// Gathers several sends into as few system calls as possible.
    func gathered(_ body: () -> Void)
    func close(code: UInt16, reason: String)
    /// Calls the session's `deadlineReached` at this time of `MonotonicClock`, up to half a second late; `.max`: never.
    /// Another call replaces the time.
    func wake(_ session: ClientSession, atMs: Int64)
    /// Ends the connection with an error status.
    func end(_ error: RequestError)
}

extension WebSocketConnection: SessionConnection {
    package func send(message: ByteBuffer) {
        send(text: message)
    }

    package func send(_ shared: SharedResult, id: String, as format: ResultFormat) {
        shared.send(id: id, as: format, on: self)
    }

    /// The session is the connection's handler.
    package func wake(_ session: ClientSession, atMs: Int64) { wake(atMs: atMs) }

    package func end(_ error: RequestError) {
        close(code: error.code == .unauthenticated ? 4403 : 1011, reason: error.message)
    }
}
