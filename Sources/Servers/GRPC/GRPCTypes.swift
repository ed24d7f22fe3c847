package import HTTPServer
package import NIOCore
package import NIOHPACK

/// How a call ended. Source: gRPC over HTTP/2, "Status".
package struct GRPCStatus: Sendable, Hashable {
    /// `google.rpc.Code`.
    package let code: Int
    package let message: String
    /// Told as `grpc-retry-pushback-ms` (gRFC A6), which clients with a retry policy obey.
    package let retryAfterMs: Int64?

    package init(code: Int, message: String, retryAfterMs: Int64? = nil) {
        self.code = code
        self.message = message
        self.retryAfterMs = retryAfterMs
    }

    package static let ok = GRPCStatus(code: 0, message: "")
}

/// What the server asks of the application. Comes on the event loop of the connection and must not block.
package protocol GRPCHandler: AnyObject, Sendable {
    /// The headers of a call have come.
    func accept(_ head: GRPCCallHead) -> GRPCAcceptance
}

package struct GRPCCallHead: Sendable {
    /// `/package.Service/Method`
    package let path: String
    package let metadata: HPACKHeaders
    package let eventLoop: any EventLoop
    package let remoteAddress: SocketAddress?
}

package enum GRPCAcceptance: Sendable {
    case refuse(GRPCStatus)
    /// One message in, one out: called when it has come; answered by `respond`.
    case unary(@Sendable (_ message: ByteBuffer, _ call: GRPCCall) -> Void)
    /// Messages in both directions.
    case stream(@Sendable (_ call: GRPCCall) -> any GRPCStream)
}

/// The application's side of a call that streams. Every call comes on the connection's event loop.
package protocol GRPCStream: AnyObject {
    func received(_ message: ByteBuffer)
    /// The client sends nothing more.
    func inputEnded()
    /// Messages that had to wait have gone out; `pendingBytes` still wait.
    func writabilityChanged(pendingBytes: Int)
    /// The last call, exactly once: the call is over, whoever ended it.
    func closed()
}

package struct GRPCConfiguration: Sendable {
    /// One message of a client; a longer one ends its call with RESOURCE_EXHAUSTED.
    package var messageBytesMax = 1 << 20
    /// Calls of one connection at a time (SETTINGS_MAX_CONCURRENT_STREAMS).
    package var callsMax = 128
    package var headerBytesMax = 16 << 10
    /// Between two pings on a connection with calls; mobile networks forget silent connections.
    package var pingIntervalMs: Int64 = 25_000
    /// A peer that sends nothing for so long after a ping is cut off.
    package var pingTimeoutMs: Int64 = 20_000
    /// A connection without calls is told to go after this.
    package var idleTimeoutMs: Int64 = 300_000
    /// While more than this waits for a client, nothing more is read of its call.
    package var readPauseBytes = 64 << 10
    /// From our last word to the reset of a stream whose client goes on sending, or to the end of a connection.
    package var lingerMs: Int64 = 5_000
    /// What is read and dropped of a connection after our last word.
    package var lingerBytesMax = 256 << 10
    /// Calls that a peer cancels within 2 s; more end the connection with ENHANCE_YOUR_CALM. A proxy's connection carries
    /// the calls of many clients: all may be cancelled, and as many again.
    package var cancellationsMax: Int { max(200, 2 * callsMax) }
    /// A client that takes nothing of what waits on a call for this long has that call reset; one whose socket takes
    /// nothing at all is cut off.
    package var writeStallTimeoutMs: Int64 = 30_000

    package init() {}
}
