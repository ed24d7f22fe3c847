package import NIOCore
import NIOHTTP1

/// Takes over a plaintext HTTP/2 connection (the client's preface comes first): adds its handlers to the channel's
/// pipeline, on the event loop, and from then on owns the connection.
package typealias HTTP2Setup = @Sendable (_ channel: any Channel, _ server: ServerShare) throws -> Void
/// Handlers that go below everything else (TLS); with them the direct write path is off.
package typealias TLSHandlers = @Sendable () throws -> [any ChannelHandler]

/// First in the pipeline while a connection speaks HTTP: looks at the raw bytes, nothing else.
///
/// It decides by the first bytes who gets the connection (RFC 9113 section 3.4: the HTTP/2 preface is no valid HTTP/1
/// request), tells the HTTP/1 handler when a request begins, and after our last word counts and drops what still comes.
final class WireHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private enum State {
        /// What has arrived so far is a beginning of the HTTP/2 preface.
        case detecting(ByteBuffer)
        case http1
        /// Everything is dropped, up to this many bytes more.
        case lingering(bytesLeft: Int)
    }

    private var state = State.detecting(ByteBuffer())
    private let transport: Transport
    private unowned let http1: HTTP1Handler

    init(transport: Transport, http1: HTTP1Handler) {
        self.transport = transport
        self.http1 = http1
    }

    func linger() {
        state = .lingering(bytesLeft: transport.table.context.configuration.lingerBytesMax)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        switch state {
        case .lingering(let bytesLeft):
            let left = bytesLeft - bytes.readableBytes
            state = .lingering(bytesLeft: left)
            if left <= 0 { context.close(promise: nil) }
        case .http1:
            http1.bytesArrive(bytes)
            context.fireChannelRead(data)
        case .detecting(var before):
            if before.readableBytes > 0 {
                before.writeBuffer(&bytes)
                bytes = before
            }
            let view = bytes.readableBytesView
            let known = min(view.count, Self.preface.count)
            let fits = view.prefix(known).elementsEqual(Self.preface.prefix(known))
            if let http2 = transport.table.context.http2, fits {
                if known == Self.preface.count {
                    http1.handOver(to: http2, from: self, first: bytes)
                } else {
                    state = .detecting(bytes)
                }
                return
            }
            state = .http1
            http1.bytesArrive(bytes)
            context.fireChannelRead(wrapInboundOut(bytes))
        }
    }
}

@available(*, unavailable)
extension WireHandler: Sendable {}
