package import NIOCore
import NIOHTTP1

/// Takes over an HTTP/2 connection (one that begins with the client preface): adds its handlers to the channel's
/// pipeline, on the event loop, and owns the connection from then on.
package typealias HTTP2Setup = @Sendable (_ channel: any Channel, _ server: HandoverContext) throws -> Void
/// Makes handlers to install below all others (TLS). With them, writes do not bypass NIO.
package typealias TLSHandlers = @Sendable () throws -> [any ChannelHandler]

/// The first handler in the pipeline while a connection speaks HTTP; it sees the raw bytes only.
///
/// It detects the protocol by the first bytes (RFC 9113 section 3.4: the HTTP/2 preface is not a valid HTTP/1 request),
/// reports to the HTTP/1 handler when a request begins, and after the final response counts and drops further input.
final class WireHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private enum State {
        /// The bytes so far are a prefix of the HTTP/2 preface.
        case detecting(ByteBuffer)
        case http1
        /// All input is dropped; the connection closes after this many more bytes.
        case lingering(bytesLeft: Int)
    }

    private var state = State.detecting(ByteBuffer())
    private let transport: Transport
    private unowned let http1: HTTP1Handler

    init(transport: Transport, http1: HTTP1Handler) {
        self.transport = transport
        self.http1 = http1
    }

    func linger(bytesMax: Int) {
        state = .lingering(bytesLeft: bytesMax)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        switch state {
        case .lingering(let bytesLeft):
            let left = bytesLeft - bytes.readableBytes
            state = .lingering(bytesLeft: left)
            if left <= 0 { context.close(promise: nil) }
        case .http1:
            if http1.takesWhole(bytes) || http1.holds(bytes) { return }
            parse(bytes, data, context)
        case .detecting(var before):
            if before.readableBytes > 0 {
                before.writeBuffer(&bytes)
                bytes = before
            }
            let view = bytes.readableBytesView
            let known = min(view.count, Self.preface.count)
            let fits = view.prefix(known).elementsEqual(Self.preface.prefix(known))
            if let http2 = transport.table.context.http2, fits {
                if known < Self.preface.count {
                    state = .detecting(bytes)
                } else if http1.isRefused {
                    http1.refuse()
                } else {
                    http1.handOver(to: http2, from: self, first: bytes)
                }
                return
            }
            state = .http1
            parse(bytes, wrapInboundOut(bytes), context)
        }
    }

    private func parse(_ bytes: ByteBuffer, _ data: NIOAny, _ context: ChannelHandlerContext) {
        // An upgrade removes it meanwhile.
        let http1 = http1
        http1.addMissingParser()
        http1.bytesArrive(bytes)
        context.fireChannelRead(data)
        http1.bytesParsed(bytes)
    }
}

@available(*, unavailable)
extension WireHandler: Sendable {}
