package import HTTPServer
package import LiveModel
package import NIOCore
package import Sessions

/// What is below a session: a WebSocket, a stream of gRPC. Used on its event loop only.
package protocol SessionConnection: AnyObject {
    var eventLoop: any EventLoop { get }
    /// For tasks that work for this connection.
    var taskExecutor: LoopTaskExecutor { get }
    /// Accepted from the session and not yet taken by the kernel or, where there is one, the peer's window.
    var pendingBytes: Int { get }

    /// One whole message.
    func send(message: ByteBuffer)
    /// A result as a message of the protocol, its body shared.
    func send(_ shared: SharedResult, id: String, as format: ResultFormat)
    /// The same in two parts, the second one shared.
    func send(prefix: [UInt8], shared: ByteBuffer)
    /// Several sends in as few system calls as possible.
    func gathered(_ body: () -> Void)
    func close(code: UInt16, reason: String)
    /// Ends it with a status.
    func end(_ error: RequestError)
}

extension WebSocketConnection: SessionConnection {
    package func send(message: ByteBuffer) {
        send(text: message)
    }

    package func send(_ shared: SharedResult, id: String, as format: ResultFormat) {
        shared.send(id: id, as: format, on: self)
    }

    package func send(prefix: [UInt8], shared: ByteBuffer) {
        send(prefix: prefix, shared: shared, suffix: [])
    }

    package func end(_ error: RequestError) {
        close(code: error.code == .unauthenticated ? 4403 : 1011, reason: error.message)
    }
}
