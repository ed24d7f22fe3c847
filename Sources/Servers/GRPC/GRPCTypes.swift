package import HTTPServer
package import NIOCore
package import NIOHPACK

/// The status that ends a call. Source: gRPC over HTTP/2, "Status".
package struct GRPCStatus: Sendable, Hashable {
    /// A `google.rpc.Code`.
    package let code: Int
    package let message: String
    /// Sent as `grpc-retry-pushback-ms` (gRFC A6), which clients with a retry policy obey.
    package let retryAfterMs: Int64?

    package init(code: Int, message: String, retryAfterMs: Int64? = nil) {
        self.code = code
        self.message = message
        self.retryAfterMs = retryAfterMs
    }

    package static let ok = GRPCStatus(code: 0, message: "")
}

/// The application behind a `GRPCServer`. Called on the connection's event loop; must not block.
package protocol GRPCHandler: AnyObject, Sendable {
    /// Decides on a call by its headers.
    func accept(_ head: GRPCCallHead) -> GRPCAcceptance
}

/// The headers of a call and where it came from.
package struct GRPCCallHead: Sendable {
    /// `/package.Service/Method`
    package let path: String
    package let metadata: HPACKHeaders
    package let eventLoop: any EventLoop
    package let remoteAddress: SocketAddress?

    /// The field `x-forwarded-for`, several joined by commas.
    package var forwarded: String? {
        let parts = metadata[canonicalForm: "x-forwarded-for"]
        return parts.isEmpty ? nil : parts.joined(separator: ",")
    }
}

/// The application's decision on a call.
package enum GRPCAcceptance: Sendable {
    case refuse(GRPCStatus)
    /// One message in each direction: called with the request, answered by `respond`.
    case unary(@Sendable (_ message: ByteBuffer, _ call: GRPCCall) -> Void)
    /// Messages in both directions.
    case stream(@Sendable (_ call: GRPCCall) -> any GRPCStream)
}

/// The application's side of a streaming call. Every method is called on the connection's event loop.
package protocol GRPCStream: AnyObject {
    func received(_ message: ByteBuffer)
    /// Called when the client has half-closed.
    func inputEnded()
    /// Called when pending bytes were sent; `pendingBytes` still wait.
    func writabilityChanged(pendingBytes: Int)
    /// Called last, exactly once, whichever side ended the call.
    func closed()
}

/// The limits of a `GRPCServer`.
package struct GRPCConfiguration: Sendable {
    /// The longest message of a client; a longer one ends its call with RESOURCE_EXHAUSTED.
    package var messageBytesMax = 4 << 20
    /// Concurrent calls of one connection (SETTINGS_MAX_CONCURRENT_STREAMS).
    package var callsMax = 128
    package var headerBytesMax = 32 << 10
    /// Time between pings on a connection with calls; mobile networks forget silent connections.
    package var pingIntervalMs: Int64 = 25_000
    /// Time after a ping at which a peer that sent nothing is cut off.
    package var pingTimeoutMs: Int64 = 10_000
    /// Time after which a connection without calls gets a GOAWAY.
    package var idleTimeoutMs: Int64 = 300_000
    /// While more than this is pending for a call's client, the call's input is not read.
    package var readPauseBytes = 64 << 10
    /// Time from our last frame to the reset of a stream whose client is still sending, or to the end of a connection.
    package var lingerMs: Int64 = 5_000
    /// Bytes that are read and dropped after the last frame of a connection.
    package var lingerBytesMax = 256 << 10
    /// Messages per second of one streaming call, and those that it may send at once; beyond that the call's input is
    /// not read for a while. 0: no limit.
    package var messagesPerSecond = 200
    package var messagesBurst = 2_000
    /// PING, SETTINGS and PRIORITY frames per second of one peer, and twice as many at once. Beyond that nothing is
    /// read from it for a while; a read with far more ends the connection with ENHANCE_YOUR_CALM. 0: 200 in 30 s,
    /// without slowing first.
    package var controlFramesPerSecond = 100
    /// Calls that a peer may cancel within 2 s; more end the connection with ENHANCE_YOUR_CALM. A proxy's connection
    /// carries the calls of many clients: all may be cancelled, and as many again.
    package var cancellationsMax: Int { max(200, 2 * callsMax) }
    /// Time after which a call is reset if its client accepts none of the pending bytes, or the connection is cut off
    /// if its socket accepts nothing.
    package var writeStallTimeoutMs: Int64 = 30_000

    package init() {}
}
