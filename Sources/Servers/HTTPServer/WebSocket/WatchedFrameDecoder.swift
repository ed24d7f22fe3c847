import NIOCore
import NIOWebSocket

/// NIO's decoder of frames, and a look at what it leaves in the buffer of one that is not whole. Of a connection that
/// lingers it keeps nothing.
final class WatchedFrameDecoder: ByteToMessageDecoder {
    typealias InboundOut = WebSocketFrame

    private var decoder: WebSocketFrameDecoder
    /// Of the same pipeline.
    private let connection: WebSocketConnection

    init(_ connection: WebSocketConnection, frameBytesMax: Int) {
        decoder = WebSocketFrameDecoder(maxFrameSize: frameBytesMax)
        self.connection = connection
    }

    func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
        if connection.isLingering {
            connection.countLingering(buffer.readableBytes)
            buffer.clear()
            return .needMoreData
        }
        let state = try decoder.decode(context: context, buffer: &buffer)
        if state == .needMoreData {
            connection.hold(frameBytes: buffer.readableBytes)
            if connection.isLingering { buffer = ByteBuffer() }
        }
        return state
    }

    func decodeLast(
        context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool
    ) throws -> DecodingState {
        try decoder.decodeLast(context: context, buffer: &buffer, seenEOF: seenEOF)
    }
}

@available(*, unavailable)
extension WatchedFrameDecoder: Sendable {}
