import NIOCore

/// Below the library once our last word is out: it keeps all that comes after an error without reading it. Drops and counts
/// instead, and closes past the bound.
final class LingerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var bytesLeft: Int

    init(bytesMax: Int) { bytesLeft = bytesMax }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        bytesLeft -= unwrapInboundIn(data).readableBytes
        if bytesLeft <= 0 { context.close(promise: nil) }
    }
}

@available(*, unavailable)
extension LingerHandler: Sendable {}
