import NIOCore
import NIOHTTP2

/// Below the library for its GOAWAY, which is the next that it writes. There it names all streams or, to a client that made
/// too many mistakes, none, as if nothing had been looked at: calls that ran would be repeated. Names the highest that was
/// looked at (RFC 9113 section 6.8), so that those after it alone are repeated.
final class LastStreamHandler: ChannelOutboundHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// Of length, type, flags and stream of the frame, which come first.
    private static let headBytes = 9

    /// Nil once it is written.
    private var lastID: HTTP2StreamID?

    init(_ lastID: HTTP2StreamID) { self.lastID = lastID }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard let lastID, case .byteBuffer(var frame) = unwrapOutboundIn(data) else {
            return context.write(data, promise: promise)
        }
        self.lastID = nil
        frame.setInteger(UInt32(Int(lastID)), at: frame.readerIndex + Self.headBytes)
        context.write(wrapOutboundOut(.byteBuffer(frame)), promise: promise)
    }
}

@available(*, unavailable)
extension LastStreamHandler: Sendable {}
