import Logging
import NIOCore
import NIOHTTP1

/// Handing the connection over to another protocol.
extension HTTP1Handler {
    func handOver(to http2: @escaping HTTP2Setup, from wire: WireHandler, first bytes: ByteBuffer) {
        guard let pipeline = channelContext?.pipeline else { return }
        leaveConnection()
        let channel = transport.channel
        let context = context
        // The preface has only just arrived, so the peer has not closed its side; HTTP/2 does not half-close.
        try? channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false)
        transport.table.remove(transport)
        transport.owner = nil
        channel.closeFuture.whenComplete { _ in context.counters.connectionsOpen.decrement() }
        pipeline.syncOperations.removeHandler(self, promise: nil)
        pipeline.syncOperations.removeHandler(wire, promise: nil)
        // The decoder is removed on the loop's next turn and must not see these bytes, so nothing is read until then.
        let decoderGone = channel.eventLoop.makePromise(of: Void.self)
        let below = below
        decoderGone.futureResult.assumeIsolated().whenComplete { _ in
            do {
                var handover = context.handover
                handover.writesDirectly = below == nil
                try http2(channel, handover)
                try channel.syncOptions?.setOption(.autoRead, value: true)
                if let below {
                    let context = try channel.pipeline.syncOperations.context(handler: below)
                    context.fireChannelRead(NIOAny(bytes))
                    context.fireChannelReadComplete()
                } else {
                    channel.pipeline.fireChannelRead(bytes)
                    channel.pipeline.fireChannelReadComplete()
                }
                channel.read()
            } catch {
                context.logger.error("HTTP/2 setup failed", metadata: ["error": "\(error)"])
                channel.close(promise: nil)
            }
        }
        if let decoder {
            pipeline.syncOperations.removeHandler(decoder, promise: decoderGone)
        } else {
            decoderGone.succeed()
        }
    }

    /// Responds with 101 and passes the connection to a `WebSocketConnection`, or sends the application's rejection.
    func upgrade(_ request: HTTPRequest, _ partial: PartialRequest, _ exchange: HTTPExchange)
        throws(HTTPFailure)
    {
        let handshake = try WebSocketHandshake(partial.head)
        switch context.handler.webSocket(request) {
        case .reject(let status, var headers, let body):
            headers.replaceOrAdd(name: "connection", value: "close")
            exchange.respond(status, headers: headers, body: body)
        case .accept(let subprotocol, var headers, let makeHandler):
            guard let channelContext else { return }
            headers.add(contentsOf: handshake.responseHeaders(subprotocol: subprotocol, on: transport.channel))
            let deflate = transport.table.compression == nil ? nil : MessageDeflate(offers: handshake.offeredExtensions)
            if let deflate { headers.add(name: "sec-websocket-extensions", value: deflate.response) }
            leaveConnection()
            let head = ResponseHead(
                status: .switchingProtocols, headers: headers, framing: .none, keepAlive: true, isHTTP10: false)
            var buffer = transport.channel.allocator.buffer(capacity: 256)
            head.encode(into: &buffer, date: transport.table.date())
            let pipeline = channelContext.pipeline.syncOperations
            let address = request.remoteIP.flatMap { context.addresses?.client($0, request.forwarded) }
            do {
                try WebSocketConnection.install(
                    on: transport, pipeline: pipeline, greeting: buffer, deflate: deflate, address: address,
                    makeHandler)
            } catch {
                transport.abort()
                return
            }
            pipeline.removeHandler(self, promise: nil)
            if let decoder { pipeline.removeHandler(decoder, promise: nil) }
            pipeline.removeHandler(wire, promise: nil)
        }
    }
}

extension HTTP1Handler {
    /// Makes NIO's parser with the configured limits.
    static func makeDecoder(_ configuration: HTTPServerConfiguration) -> ByteToMessageHandler<
        HTTPRequestDecoder
    > {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = configuration.headerBytesMax
        limits.maxHeaderListSize = configuration.headerBytesMax
        limits.maxHeaderFieldCount = configuration.headerFieldsMax
        return ByteToMessageHandler(
            HTTPRequestDecoder(
                leftOverBytesStrategy: .forwardBytes, informationalResponseStrategy: .drop, limitConfiguration: limits))
    }
}
