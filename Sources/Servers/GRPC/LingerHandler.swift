import NIOCore

/// Drops and counts the input of a connection that is closing, and closes it past a limit. Sits below NIO's HTTP/2
/// handler, which after an error would buffer all input unread.
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
