import Streams
import Glibc
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// TLS for hiredis, which Debian builds without it: hiredis writes plain text into one end of a socket pair, and NIO
/// carries that over TLS to the server. To hiredis the tunnel is a connection like any other: it ends when the server's
/// does, and vice versa.
///
/// Bound: NIO buffers one write of hiredis, because each side is read only while the other is writable.
enum TLSTunnel {
    /// Connects, verifies the server's identity, and returns hiredis' end. Blocks the calling thread for at most about
    /// `timeoutMs`; it must not be one of NIO's or of the cooperative pool.
    static func open(
        host: String, port: Int, _ tls: RedisTLS, timeoutMs: Int
    ) throws(RedisConnection.Failure) -> Int32 {
        var ends: (near: Int32, far: Int32) = (-1, -1)
        let status = withUnsafeMutableBytes(of: &ends) { bytes in
            let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            return socketpair(AF_UNIX, type, 0, bytes.bindMemory(to: Int32.self).baseAddress)
        }
        guard status == 0 else { throw RedisConnection.Failure(reason: "no file descriptor") }
        var isConfigured = false
        do {
            let context = try NIOSSLContext(configuration: configuration(tls))
            isConfigured = true
            let loop = MultiThreadedEventLoopGroup.singleton.next()
            try connect(host, port, context, serverName(tls, host), loop, far: ends.far, timeoutMs: timeoutMs).wait()
            return ends.near
        } catch {
            close(ends.near)
            let text = "\(error)"
            // One of our files is missing or invalid, or the server is not trusted.
            let isFinal = !isConfigured || text.contains("CERTIFICATE_VERIFY_FAILED")
            throw RedisConnection.Failure(reason: "TLS: " + String(text.prefix(300)), isFinal: isFinal)
        }
    }

    private static func configuration(_ tls: RedisTLS) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.certificateVerification = tls.isVerified ? .fullVerification : .none
        if let file = tls.caFile { configuration.trustRoots = .file(file) }
        if let file = tls.certificateFile {
            configuration.certificateChain = try NIOSSLCertificate.fromPEMFile(file).map { .certificate($0) }
        }
        if let file = tls.keyFile {
            configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: file, format: .pem))
        }
        return configuration
    }

    /// An IP address is no server name; without a name the certificate must carry the address itself.
    private static func serverName(_ tls: RedisTLS, _ host: String) -> String? {
        if let name = tls.serverName { return name }
        return (try? SocketAddress(ipAddress: host, port: 0)) == nil ? host : nil
    }

    private static func connect(
        _ host: String, _ port: Int, _ context: NIOSSLContext, _ serverName: String?, _ loop: any EventLoop,
        far: Int32, timeoutMs: Int
    ) -> EventLoopFuture<Void> {
        let secured = loop.makePromise(of: Void.self)
        let timeout = loop.scheduleTask(in: .milliseconds(Int64(timeoutMs))) {
            secured.fail(ChannelError.connectTimeout(.milliseconds(Int64(timeoutMs))))
        }
        secured.futureResult.whenComplete { _ in timeout.cancel() }
        let bootstrap = ClientBootstrap(group: loop)
            .connectTimeout(.milliseconds(Int64(timeoutMs)))
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        try NIOSSLClientHandler(context: context, serverHostname: serverName),
                        HandshakeHandler(secured), TunnelHandler(),
                    ])
                }
            }
        // This function closes the far end until NIO has it; from then on NIO does.
        let isHandedOver = NIOLockedValueBox(false)
        return bootstrap.connect(host: host, port: port)
            .flatMapError { error in
                secured.fail(error)
                return loop.makeFailedFuture(error)
            }
            .flatMap { server in
                secured.futureResult
                    .flatMapThrowing {
                        let there = try server.pipeline.syncOperations.handler(type: TunnelHandler.self)
                        return NIOLoopBound(there, eventLoop: loop)
                    }
                    .flatMap { there in
                        isHandedOver.withLockedValue { $0 = true }
                        return ClientBootstrap(group: loop)
                            .channelInitializer { local in
                                local.eventLoop.makeCompletedFuture {
                                    let here = TunnelHandler()
                                    try here.join(there.value)
                                    try local.pipeline.syncOperations.addHandler(here)
                                }
                            }
                            .withConnectedSocket(far)
                    }
                    .map { _ in }
                    .flatMapErrorThrowing { error in
                        server.close(promise: nil)
                        throw error
                    }
            }
            .flatMapErrorThrowing { error in
                if !isHandedOver.withLockedValue({ $0 }) { Glibc.close(far) }
                throw error
            }
    }
}

/// Completes a promise when the handshake succeeds or fails.
private final class HandshakeHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let secured: EventLoopPromise<Void>

    init(_ secured: EventLoopPromise<Void>) { self.secured = secured }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted = event as? TLSUserEvent { secured.succeed() }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        secured.fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        secured.fail(ChannelError.eof)
        context.fireChannelInactive()
    }
}

/// One side of the tunnel: forwards what arrives to the partner, and reads while the partner is writable.
///
/// Both sides are confined to one event loop.
private final class TunnelHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var partner: TunnelHandler?
    private var context: ChannelHandlerContext?
    private var wantsRead = false

    /// - Throws: if the other side has ended already.
    func join(_ other: TunnelHandler) throws {
        guard other.context != nil else { throw ChannelError.eof }
        partner = other
        other.partner = self
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        partner = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        partner?.context?.write(wrapOutboundOut(unwrapInboundIn(data)), promise: nil)
    }

    func channelReadComplete(context: ChannelHandlerContext) { partner?.context?.flush() }

    func channelInactive(context: ChannelHandlerContext) { partner?.context?.close(promise: nil) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { partner?.readOn() }
    }

    func read(context: ChannelHandlerContext) {
        if let partner, partner.context?.channel.isWritable == false {
            wantsRead = true
        } else {
            context.read()
        }
    }

    private func readOn() {
        guard wantsRead else { return }
        wantsRead = false
        context?.read()
    }
}
