import NIOCore
import NIOHTTP2

/// Corrects the last stream id in NIO's GOAWAY, which is the next frame that NIO writes. NIO names all streams or,
/// after too many errors of a client, none, which would make the client repeat calls that ran. This handler names the
/// highest stream that was processed (RFC 9113 section 6.8), so that only later calls are repeated.
final class LastStreamHandler: ChannelOutboundHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// The size of a frame's length, type, flags and stream, which come first.
    private static let headBytes = 9

    /// Nil once the GOAWAY is written.
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
