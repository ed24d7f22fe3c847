import Glibc
import HTTPServer
import NIOCore
import NIOHTTP2
import NIOPosix
import Testing

@testable import GRPC

/// A server on a real socket, to which it writes directly.
@Suite struct GRPCSocketTests {
    private final class Calls: GRPCHandler {
        let made: @Sendable (GRPCCall) -> Void
        init(_ made: @escaping @Sendable (GRPCCall) -> Void) { self.made = made }

        func accept(_ head: GRPCCallHead) -> GRPCAcceptance {
            .stream { [made] call in
                // After the call's own frames.
                call.eventLoop.execute { made(call) }
                return Stream()
            }
        }
    }

    private final class Stream: GRPCStream {
        func received(_ message: ByteBuffer) {}
        func inputEnded() {}
        func writabilityChanged(pendingBytes: Int) {}
        func closed() {}
    }

    /// Messages of many sizes, sent one by one and together, small and large, to a client that reads nothing until the
    /// socket is full: every byte arrives once and in its place.
    @Test(arguments: [true, false]) func everythingArrivesInOrderAtASlowReader(_ writesDirectly: Bool) async throws {
        let sizes = (0..<1_000).map { [1, 100, 1_000, 5_000, 16_379, 16_380, 40_000][$0 % 7] }
        let (filled, full) = AsyncStream.makeStream(of: Int.self)
        let grpc = GRPCServer(
            configuration: GRPCConfiguration(),
            handler: Calls { call in
                for (number, size) in sizes.enumerated() {
                    let body = ByteBuffer(repeating: UInt8(number % 251), count: size - 1)
                    let send = { call.send(prefix: [UInt8(number % 251)], shared: body) }
                    if number % 5 == 0 { call.gathered { send() } } else { send() }
                }
                full.yield(call.pendingBytes)
            })
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let server = try await ServerBootstrap(group: group).childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                var share = HandoverContext(bodies: BytesBudget(bytesMax: 1 << 20)) {}
                share.writesDirectly = writesDirectly
                try grpc.setup(channel, share)
            }
        }.bind(host: "127.0.0.1", port: 0).get()

        let client = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        defer { close(client) }
        var receiveBytes: CInt = 65_536
        setsockopt(client, SOL_SOCKET, SO_RCVBUF, &receiveBytes, socklen_t(MemoryLayout<CInt>.size))
        let address = try #require(server.localAddress)
        let isConnected = address.withSockAddr { connect(client, $0, socklen_t($1)) == 0 }
        #expect(isConnected)
        var hello = ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        // Windows that never close.
        hello.writeImmutableBuffer(GRPCPair.bytes(GRPCPair.settings, on: 0, [0, 4, 0x7F, 0xFF, 0xFF, 0xFF]))
        hello.writeImmutableBuffer(GRPCPair.bytes(GRPCPair.windowUpdate, on: 0, [0x7F, 0xFF, 0, 0]))
        hello.writeImmutableBuffer(GRPCPair.bytes(GRPCPair.headers, flags: 0x4, on: 1, GRPCPair.streamFields))
        let written = hello.withUnsafeReadableBytes { send(client, $0.baseAddress, $0.count, 0) }
        #expect(written == hello.readableBytes)

        for await pending in filled {
            #expect(pending > 1_000_000, "the socket is full")
            break
        }
        let expected = sizes.reduce(0) { $0 + $1 + 5 }
        var frames = ByteBuffer()
        var data = ByteBuffer()
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while data.readableBytes < expected {
            let count = recv(client, &chunk, chunk.count, 0)
            guard count > 0 else { break }
            frames.writeBytes(chunk[..<count])
            while let length: UInt32 = frames.getInteger(at: frames.readerIndex),
                frames.readableBytes >= 9 + Int(length >> 8)
            {
                frames.moveReaderIndex(forwardBy: 9)
                guard let payload = frames.readSlice(length: Int(length >> 8)), length & 0xFF == 0 else { continue }
                data.writeImmutableBuffer(payload)
            }
            if frames.readerIndex > 1 << 20 { frames.discardReadBytes() }
        }
        for (number, size) in sizes.enumerated() {
            let flag: UInt8? = data.readInteger()
            let length: UInt32? = data.readInteger()
            let body = data.readSlice(length: size)
            let isRight =
                flag == 0 && length == UInt32(size)
                && body == ByteBuffer(repeating: UInt8(number % 251), count: size)
            #expect(isRight, "message \(number)")
            guard isRight else { break }
        }
        try await server.close()
        try await group.shutdownGracefully()
    }
}
