import NIOCore
import NIOWebSocket

/// Passes frames from the pipeline to the connection.
final class WebSocketChannelHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame

    private let connection: WebSocketConnection

    init(_ connection: WebSocketConnection) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { connection.received(unwrapInboundIn(data)) }

    func channelReadComplete(context: ChannelHandlerContext) {
        connection.inputArrived()
        connection.readIfWanted()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { connection.inputClosed() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) { connection.connectionLost() }

    func handlerRemoved(context: ChannelHandlerContext) { connection.connectionLost() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { connection.failed(error) }
}

@available(*, unavailable)
extension WebSocketChannelHandler: Sendable {}
