import NIOCore
import NIOWebSocket

/// NIO's frame decoder, with the bytes of an incomplete frame counted against the server's body budget. Discards all
/// input of a lingering connection.
final class BudgetedFrameDecoder: ByteToMessageDecoder {
    typealias InboundOut = WebSocketFrame

    private var decoder: WebSocketFrameDecoder
    /// The connection in the same pipeline.
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
extension BudgetedFrameDecoder: Sendable {}
