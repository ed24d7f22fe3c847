internal import HTTPServer
internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2

/// One HTTP/2 stream: checks the call's headers, puts messages together, hands them on. Source: gRPC over HTTP/2.
final class GRPCStreamHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private enum Role {
        case awaitingHeaders
        case unary(@Sendable (ByteBuffer, GRPCCall) -> Void)
        case stream(any GRPCStream)
        /// What still comes is dropped.
        case over
    }

    private let handler: any GRPCHandler
    private let configuration: GRPCConfiguration
    private let bodies: BytesBudget
    private let taskExecutor: LoopTaskExecutor
    private let remoteAddress: SocketAddress?
    private var role = Role.awaitingHeaders
    private var call: GRPCCall?
    /// Of a message that is not whole: at most `messageBytesMax`, and what a read brings.
    private var buffer = ByteBuffer()
    /// Of the buffer, taken from the server's budget for bodies.
    private var heldBytes = 0
    private var hasMessage = false

    init(
        handler: any GRPCHandler, configuration: GRPCConfiguration, bodies: BytesBudget, taskExecutor: LoopTaskExecutor,
        remoteAddress: SocketAddress?
    ) {
        self.handler = handler
        self.configuration = configuration
        self.bodies = bodies
        self.taskExecutor = taskExecutor
        self.remoteAddress = remoteAddress
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .headers(let headers):
            if case .awaitingHeaders = role { begin(headers.headers, context) }
            if headers.endStream { inputEnded() }
        case .data(let data):
            if case .byteBuffer(var bytes) = data.data, !isOver {
                buffer.writeBuffer(&bytes)
                takeMessages()
                if !isOver { hold() }
            }
            if data.endStream { inputEnded() }
        default: break
        }
    }

    private var isOver: Bool {
        if case .over = role { true } else { call?.isOver ?? false }
    }

    private func begin(_ headers: HPACKHeaders, _ context: ChannelHandlerContext) {
        let head = GRPCCallHead(
            path: headers.first(name: ":path") ?? "", metadata: headers, eventLoop: context.eventLoop,
            remoteAddress: remoteAddress)
        let call = GRPCCall(head: head, channel: context.channel, taskExecutor: taskExecutor)
        self.call = call
        let type = headers.first(name: "content-type") ?? ""
        guard type == "application/grpc" || type.hasPrefix("application/grpc+") || type.hasPrefix("application/grpc;")
        else {
            role = .over
            let answer: HPACKHeaders = [":status": "415"]
            call.lost()
            context.writeAndFlush(wrapOutboundOut(.headers(.init(headers: answer, endStream: true))), promise: nil)
            return
        }
        guard headers.first(name: ":method") == "POST" else {
            return refuse(GRPCStatus(code: 12, message: "calls are made with POST"))
        }
        switch GRPCTimeout.milliseconds(headers.first(name: "grpc-timeout")) {
        case .none: break
        case .malformed:
            return refuse(GRPCStatus(code: 13, message: "\"grpc-timeout\" is up to 8 digits and a unit"))
        case .after(let ms):
            // Nobody waits for an answer any more.
            guard ms > 0 else { return refuse(GRPCTimeout.exceeded) }
            let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
            deadline = context.eventLoop.scheduleTask(in: .milliseconds(ms)) {
                bound.value.deadline = nil
                bound.value.refuse(GRPCTimeout.exceeded)
            }
        }
        switch handler.accept(head) {
        case .refuse(let status): refuse(status)
        case .unary(let run): role = .unary(run)
        case .stream(let make):
            call.begin()
            let stream = make(call)
            role = .stream(stream)
            let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
            call.onFall = { bytes in
                stream.writabilityChanged(pendingBytes: bytes)
                bound.value.regulate()
            }
            call.onFinish = { bound.value.endOfStream() }
        }
    }

    private func refuse(_ status: GRPCStatus) {
        call?.finish(status)
        endOfStream()
    }

    /// Each message after its five bytes: whether it is compressed, and its length.
    private func takeMessages() {
        while !isOver, buffer.readableBytes >= 5 {
            let isCompressed = buffer.getInteger(at: buffer.readerIndex, as: UInt8.self) != 0
            let length = Int(buffer.getInteger(at: buffer.readerIndex + 1, as: UInt32.self) ?? 0)
            if isCompressed { return refuse(Self.compressed) }
            guard length <= configuration.messageBytesMax else {
                return refuse(
                    GRPCStatus(code: 8, message: "a message is larger than \(configuration.messageBytesMax) bytes"))
            }
            guard buffer.readableBytes >= 5 + length else { break }
            buffer.moveReaderIndex(forwardBy: 5)
            guard let message = buffer.readSlice(length: length), let call else { return }
            if buffer.readableBytes == 0 { buffer = ByteBuffer() } else { buffer.discardReadBytes() }
            switch role {
            case .unary(let run):
                guard !hasMessage else { return refuse(GRPCStatus(code: 3, message: "a second message")) }
                hasMessage = true
                run(message, call)
            case .stream(let stream):
                stream.received(message)
                regulate()
            case .awaitingHeaders, .over: return
            }
        }
    }

    /// What waits for the rest of its message counts with all bodies of the server.
    private func hold() {
        bodies.give(heldBytes)
        heldBytes = bodies.take(buffer.readableBytes) ? buffer.readableBytes : 0
        if heldBytes < buffer.readableBytes { refuse(Self.full) }
    }

    private func inputEnded() {
        switch role {
        case .unary where !hasMessage: refuse(GRPCStatus(code: 3, message: "there is no message"))
        case .stream(let stream): if !isOver { stream.inputEnded() }
        case .awaitingHeaders, .unary, .over: break
        }
    }

    /// A client that does not read must not make us answer without end.
    private func regulate() {
        guard let call, let channel else { return }
        let isReading = call.pendingBytes <= configuration.readPauseBytes
        guard isReading != self.isReading else { return }
        self.isReading = isReading
        try? channel.syncOptions?.setOption(.autoRead, value: isReading)
    }

    private var deadline: Scheduled<Void>?
    private static let full = GRPCStatus(code: 14, message: "too many messages are arriving", retryAfterMs: 1_000)
    private static let compressed = GRPCStatus(code: 12, message: "compressed messages are not read")
    private var isReading = true
    private var channel: (any Channel)?

    func handlerAdded(context: ChannelHandlerContext) { channel = context.channel }

    func channelInactive(context: ChannelHandlerContext) { end() }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func end() {
        call?.lost()
        endOfStream()
        channel = nil
    }

    /// The application's part is over, though the client may go on sending for a while.
    private func endOfStream() {
        deadline?.cancel()
        deadline = nil
        call?.onFall = nil
        call?.onFinish = nil
        if case .stream(let stream) = role {
            role = .over
            stream.closed()
        }
        role = .over
        buffer = ByteBuffer()
        bodies.give(heldBytes)
        heldBytes = 0
    }
}

@available(*, unavailable)
extension GRPCStreamHandler: Sendable {}
