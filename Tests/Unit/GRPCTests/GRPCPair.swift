import HTTPServer
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Synchronization

@testable import GRPC

/// The server, and NIO's HTTP/2 as its client, which judges every frame. Their bytes are carried by hand.
final class GRPCPair {
    let socket = Socket()
    let server: EmbeddedChannel
    let grpc: GRPCServer
    let client = EmbeddedChannel(handler: NIOHTTP2Handler(mode: .client))
    let bodies: BytesBudget
    private let cutOffs = Count()
    /// The frames of each stream: header fields (`name=value …`), messages (`message TEXT`), `reset CODE`, `end`.
    private(set) var seen: [HTTP2StreamID: [String]] = [:]
    private(set) var goAways: [HTTP2ErrorCode] = []
    private(set) var lastStreamIDs: [HTTP2StreamID] = []
    /// The increments by which the server opened its window of the connection.
    private(set) var windowIncrements: [Int] = []
    /// Bytes of DATA that came and were not given back to the windows.
    private(set) var unread: [HTTP2StreamID: Int] = [:]
    private var arriving: [HTTP2StreamID: ByteBuffer] = [:]
    private var lastID = -1
    private(set) var givenUp: Set<HTTP2StreamID> = []
    /// Whether what comes is read at once, so that windows open again.
    var isReading = true

    /// Small headers, and neither rates nor a short time for pongs, which the tests that need them set.
    static let unhurried: GRPCConfiguration = {
        var configuration = GRPCConfiguration()
        configuration.headerBytesMax = 16 << 10
        configuration.pingTimeoutMs = 20_000
        configuration.messagesPerSecond = 0
        configuration.controlFramesPerSecond = 0
        return configuration
    }()

    init(
        _ application: any GRPCHandler, bodiesBytesMax: Int = 1 << 20, _ configuration: GRPCConfiguration = unhurried,
        addressRates: AddressRates? = nil
    ) throws {
        server = EmbeddedChannel(handler: socket)
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
        server.connect(to: address, promise: nil)
        client.connect(to: address, promise: nil)
        bodies = BytesBudget(bytesMax: bodiesBytesMax)
        grpc = GRPCServer(configuration: configuration, handler: application)
        let share = HandoverContext(bodies: bodies, addressRates: addressRates) { [cutOffs] in
            cutOffs.value.wrappingAdd(1, ordering: .relaxed)
        }
        try grpc.setup(server, share)
        try carry()
    }

    /// One call, of which nothing is read while so much waits for it.
    static func withUnreadCall(
        of bytes: Int, ends: Bool = false
    ) throws -> (pair: GRPCPair, id: HTTP2StreamID, stream: TestCalls.Stream) {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        pair.isReading = false
        let id = try pair.call("/stream", ends: ends)
        calls.streams[0].call.send(prefix: [], shared: ByteBuffer(repeating: 0x61, count: bytes))
        try pair.carry()
        return (pair, id, calls.streams[0])
    }

    /// The number of calls and connections that the server counted as cut off.
    var cutOffCount: Int { cutOffs.value.load(ordering: .relaxed) }

    /// Time passes for the server.
    func pass(seconds: Int64) throws {
        server.embeddedEventLoop.advanceTime(by: .seconds(seconds))
        try carry()
    }

    deinit {
        client.close(promise: nil)
        server.close(promise: nil)
        server.embeddedEventLoop.run()
        client.embeddedEventLoop.run()
    }

    /// Begins a call.
    func call(
        _ path: String, type: String = "application/grpc", with more: [(String, String)] = [], ends: Bool = false
    ) throws -> HTTP2StreamID {
        lastID += 2
        let id = HTTP2StreamID(lastID)
        let headers = HPACKHeaders(
            [
                (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "h"),
                ("content-type", type),
            ] + more)
        try write(id, .headers(.init(headers: headers, endStream: ends)))
        return id
    }

    /// A message whole, or the beginning of one that is longer.
    func send(_ text: String, of length: Int? = nil, on id: HTTP2StreamID, ends: Bool = false) throws {
        var bytes = ByteBuffer()
        bytes.writeInteger(UInt8(0))
        bytes.writeInteger(UInt32(length ?? text.utf8.count))
        bytes.writeString(text)
        try write(id, .data(.init(data: .byteBuffer(bytes), endStream: ends)))
    }

    /// Carries what both sides have to say until they are silent.
    func write(_ id: HTTP2StreamID, _ payload: HTTP2Frame.FramePayload) throws {
        client.pipeline.syncOperations.writeAndFlush(
            NIOAny(HTTP2Frame(streamID: id, payload: payload)), promise: nil)
        try carry()
    }

    /// Stops reading the stream, but not its connection.
    func giveUp(_ id: HTTP2StreamID) { givenUp.insert(id) }

    /// Gives back what came of a stream.
    func read(_ id: HTTP2StreamID) throws {
        giveBack(id)
        try carry()
    }

    private func giveBack(_ id: HTTP2StreamID) {
        guard let count = unread.removeValue(forKey: id), count > 0 else { return }
        let isOver = seen[id]?.contains("end") == true || givenUp.contains(id)
        for id in isOver ? [.rootStream] : [.rootStream, id] {
            client.pipeline.syncOperations.writeAndFlush(
                NIOAny(HTTP2Frame(streamID: id, payload: .windowUpdate(windowSizeIncrement: count))), promise: nil)
        }
    }

    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let reset: UInt8 = 3
    static let settings: UInt8 = 4
    static let ping: UInt8 = 6
    static let goAway: UInt8 = 7
    static let windowUpdate: UInt8 = 8

    /// The server reads a frame that NIO's client would not send.
    func frame(_ type: UInt8, flags: UInt8 = 0, on id: HTTP2StreamID, _ payload: [UInt8]) throws {
        receive(Self.bytes(type, flags: flags, on: id, payload))
        try carry()
    }

    static func bytes(_ type: UInt8, flags: UInt8 = 0, on id: HTTP2StreamID, _ payload: [UInt8]) -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.writeInteger(UInt8(payload.count >> 16))
        bytes.writeInteger(UInt16(truncatingIfNeeded: payload.count))
        bytes.writeBytes([type, flags])
        bytes.writeInteger(UInt32(Int(id)))
        bytes.writeBytes(payload)
        return bytes
    }

    /// Begins a call of which NIO's client is unaware.
    func rawCall(_ fields: [UInt8]) throws -> HTTP2StreamID {
        lastID += 2
        let id = HTTP2StreamID(lastID)
        receive(Self.bytes(Self.headers, flags: 0x4, on: id, fields))
        return id
    }

    /// A call of `/stream`, which leaves the header tables as they are (RFC 7541 section 6.2.2).
    static let streamFields = fields("/stream")

    static func fields(_ path: String) -> [UInt8] {
        [0x83, 0x86] + GRPCErrorTests.field(":path", path) + GRPCErrorTests.field("content-type", "application/grpc")
    }

    /// The server reads.
    func receive(_ bytes: ByteBuffer) {
        server.pipeline.fireChannelRead(bytes)
        server.pipeline.fireChannelReadComplete()
    }

    /// Frames of the server that are not carried to the client.
    func writtenFrames() throws -> [Frame] {
        var bytes = ByteBuffer()
        while let more = try server.readOutbound(as: ByteBuffer.self) { bytes.writeImmutableBuffer(more) }
        var frames: [Frame] = []
        while let head = bytes.readBytes(length: 9) {
            let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            let id = head[5..<9].reduce(0) { $0 << 8 | Int($1) }
            frames.append(Frame(type: head[3], id: HTTP2StreamID(id), payload: bytes.readBytes(length: length) ?? []))
        }
        return frames
    }

    struct Frame: Equatable {
        let type: UInt8
        let id: HTTP2StreamID
        let payload: [UInt8]

        static func reset(_ id: HTTP2StreamID, _ code: HTTP2ErrorCode) -> Frame {
            Frame(type: GRPCPair.reset, id: id, payload: [0, 0, 0, UInt8(code.networkCode)])
        }

        static func goAway(last id: HTTP2StreamID, _ code: HTTP2ErrorCode) -> Frame {
            let last = withUnsafeBytes(of: UInt32(Int(id)).bigEndian) { Array($0) }
            return Frame(
                type: GRPCPair.goAway, id: .rootStream, payload: last + [0, 0, 0, UInt8(code.networkCode)])
        }
    }

    /// Whether the socket takes more, as the channel tells its handlers.
    func setWritable(_ isWritable: Bool) throws {
        server.isWritable = isWritable
        server.pipeline.fireChannelWritabilityChanged()
        try carry()
    }

    func carry() throws {
        var hasMoved = true
        while hasMoved {
            hasMoved = false
            while server.isActive, let bytes = try client.readOutbound(as: ByteBuffer.self) {
                hasMoved = true
                receive(bytes)
            }
            server.embeddedEventLoop.run()
            while let bytes = try server.readOutbound(as: ByteBuffer.self) {
                hasMoved = true
                try client.writeInbound(bytes)
            }
            while let frame = try client.readInbound(as: HTTP2Frame.self) { take(frame) }
            if isReading, !unread.isEmpty {
                hasMoved = true
                for id in unread.keys.sorted() { giveBack(id) }
            }
        }
    }

    private func take(_ frame: HTTP2Frame) {
        let id = frame.streamID
        switch frame.payload {
        case .headers(let headers):
            // The same code and message once more (`StatusDetailsTests`).
            let fields = headers.headers.filter { $0.name != "grpc-status-details-bin" }
            seen[id, default: []].append(fields.map { "\($0.name)=\($0.value)" }.joined(separator: " "))
            if headers.endStream { seen[id, default: []].append("end") }
        case .data(let data):
            guard case .byteBuffer(let bytes) = data.data else { return }
            unread[id, default: 0] += bytes.readableBytes
            arriving[id, default: ByteBuffer()].writeImmutableBuffer(bytes)
            while let length: UInt32 = arriving[id]?.getInteger(at: (arriving[id]?.readerIndex ?? 0) + 1),
                var whole = arriving[id]?.readSlice(length: 5 + Int(length))
            {
                whole.moveReaderIndex(forwardBy: 5)
                seen[id, default: []].append("message " + String(buffer: whole))
            }
            if data.endStream { seen[id, default: []].append("end") }
        case .rstStream(let code): seen[id, default: []].append("reset \(code.networkCode)")
        case .goAway(let last, let code, _):
            goAways.append(code)
            lastStreamIDs.append(last)
        case .windowUpdate(let increment) where id == .rootStream: windowIncrements.append(increment)
        default: break
        }
    }
}

/// The server's; while it is full nothing that is written leaves the channel.
final class Socket: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    var isFull = false
    /// Closes each direction on its own, as a socket does; an embedded channel closes whole.
    var closesByHalf = false
    func flush(context: ChannelHandlerContext) { if !isFull { context.flush() } }
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode == .output, closesByHalf { promise?.succeed() } else { context.close(mode: mode, promise: promise) }
    }
}

private final class Count: Sendable {
    let value = Atomic<Int>(0)
}

/// Answers `/echo` with its message; `/stream` keeps its call.
final class TestCalls: GRPCHandler, @unchecked Sendable {
    final class Stream: GRPCStream {
        let call: GRPCCall
        var events: [String] = []
        init(_ call: GRPCCall) { self.call = call }
        func received(_ message: ByteBuffer) { events.append("got " + String(buffer: message)) }
        func inputEnded() { events.append("input ended") }
        func writabilityChanged(pendingBytes: Int) { events.append("pending \(pendingBytes)") }
        func closed() { events.append("closed") }
    }

    /// Used by the test's one thread only.
    var streams: [Stream] = []
    /// The rates of addresses, of which every call is of 192.0.2.1.
    var rates: AddressRates?

    func accept(_ head: GRPCCallHead) -> GRPCAcceptance {
        switch head.path {
        case "/echo": .unary { message, call in call.respond(Array(message.readableBytesView)) }
        case "/stream":
            .stream { call in
                call.addressRate = self.rates?.rate(of: "192.0.2.1", on: call.eventLoop)
                let stream = Stream(call)
                self.streams.append(stream)
                return stream
            }
        default: .refuse(GRPCStatus(code: 12, message: "no \(head.path)"))
        }
    }
}
