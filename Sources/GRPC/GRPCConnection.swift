internal import NIOCore
internal import NIOHTTP2

/// The end of a connection's pipeline: pings, idleness, farewell.
final class GRPCConnection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private let configuration: GRPCConfiguration
    private let onClosed: () -> Void
    private var context: ChannelHandlerContext?
    private var calls = 0
    private var timer: Scheduled<Void>?
    private var isLeaving = false
    private var pingedAt: NIODeadline?
    private var idleSince = NIODeadline.now()
    /// When bytes came last; noted by `ActivityHandler`.
    var lastRead = NIODeadline.now()

    init(configuration: GRPCConfiguration, onClosed: @escaping () -> Void) {
        self.configuration = configuration
        self.onClosed = onClosed
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        schedule()
    }

    func callBegan() { calls += 1 }

    func callEnded() {
        calls -= 1
        guard calls == 0 else { return }
        idleSince = .now()
        if isLeaving { context?.close(promise: nil) }
    }

    /// No new calls; those that run may end. Source: RFC 9113 §6.8.
    func goAway() {
        guard !isLeaving, let context else { return }
        isLeaving = true
        let frame = HTTP2Frame(
            streamID: .rootStream, payload: .goAway(lastStreamID: .maxID, errorCode: .noError, opaqueData: nil))
        context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
        if calls == 0 { context.close(promise: nil) }
    }

    private func schedule() {
        guard let context else { return }
        let interval = min(configuration.pingIntervalMs, configuration.pingTimeoutMs, configuration.idleTimeoutMs)
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(in: .milliseconds(max(10, interval / 2))) { bound.value.tick() }
    }

    private func tick() {
        guard let context else { return }
        schedule()
        let now = NIODeadline.now()
        if let pingedAt {
            if lastRead > pingedAt {
                self.pingedAt = nil
            } else if now - pingedAt > .milliseconds(configuration.pingTimeoutMs) {
                context.close(promise: nil)
            }
            return
        }
        if calls == 0 {
            if now - idleSince > .milliseconds(configuration.idleTimeoutMs) { goAway() }
        } else if now - lastRead > .milliseconds(configuration.pingIntervalMs / 2) {
            pingedAt = now
            let frame = HTTP2Frame(streamID: .rootStream, payload: .ping(HTTP2PingData(withInteger: 1), ack: false))
            context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Errors of one stream end that stream alone.
        if error is NIOHTTP2Errors.StreamError { return }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { end() }
    func handlerRemoved(context: ChannelHandlerContext) { end() }

    private func end() {
        guard context != nil else { return }
        context = nil
        timer?.cancel()
        timer = nil
        onClosed()
    }
}

@available(*, unavailable)
extension GRPCConnection: Sendable {}

/// First in the pipeline: any byte is a sign of life.
final class ActivityHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let connection: GRPCConnection

    init(_ connection: GRPCConnection) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        connection.lastRead = .now()
        context.fireChannelRead(data)
    }
}

@available(*, unavailable)
extension ActivityHandler: Sendable {}

/// Counts the calls of a connection. Called on its event loop.
final class CallCounter: NIOHTTP2StreamDelegate {
    private let connection: NIOLoopBound<GRPCConnection>

    init(_ connection: GRPCConnection, eventLoop: any EventLoop) {
        self.connection = NIOLoopBound(connection, eventLoop: eventLoop)
    }

    func streamCreated(_ id: HTTP2StreamID, channel: any Channel) { connection.value.callBegan() }
    func streamClosed(_ id: HTTP2StreamID, channel: any Channel) { connection.value.callEnded() }
}
