import HTTPServer
import NIOCore
import NIOEmbedded
import NIOHTTP2
import Testing

@testable import GRPC

/// A client's mistake on one stream ends that stream, a mistake on the connection ends the connection. Source: RFC 9113
/// section 5.4.
@Suite struct GRPCErrorTests {
    /// A wrong frame for the stream, and the error code that the stream is reset with.
    enum Mistake: CaseIterable {
        case windowOpenedByNothing, windowTooLarge, dataAfterTheEnd, lengthOfTheContent, trailersWithoutEnd

        var code: HTTP2ErrorCode {
            switch self {
            case .windowOpenedByNothing, .lengthOfTheContent, .trailersWithoutEnd: .protocolError
            case .windowTooLarge: .flowControlError
            case .dataAfterTheEnd: .streamClosed
            }
        }

        func make(_ pair: GRPCPair) throws -> HTTP2StreamID {
            switch self {
            case .windowOpenedByNothing:
                let id = try pair.call("/stream")
                try pair.frame(GRPCPair.windowUpdate, on: id, [0, 0, 0, 0])
                return id
            case .windowTooLarge:
                let id = try pair.call("/stream")
                try pair.frame(GRPCPair.windowUpdate, on: id, [0x7F, 0xFF, 0xFF, 0xFF])
                return id
            case .dataAfterTheEnd:
                let id = try pair.call("/stream", ends: true)
                try pair.frame(GRPCPair.data, on: id, [1])
                return id
            case .lengthOfTheContent:
                let id = try pair.call("/stream", with: [("content-length", "3")])
                try pair.frame(GRPCPair.data, on: id, [0, 0, 0, 0, 1, 2])
                return id
            case .trailersWithoutEnd:
                let id = try pair.call("/stream")
                try pair.frame(GRPCPair.headers, flags: 0x4, on: id, GRPCErrorTests.field("x-more", "y"))
                return id
            }
        }
    }

    /// A literal header field that is not indexed (RFC 7541 section 6.2.2).
    static func field(_ name: String, _ value: String) -> [UInt8] {
        [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
    }

    @Test(arguments: Mistake.allCases, [true, false])
    func aMistakeOnAStreamEndsThatStreamAlone(_ mistake: Mistake, _ isWritable: Bool) throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        let other = try pair.call("/stream")
        // Control frames are queued while the socket is not writable.
        if !isWritable { try pair.setWritable(false) }
        let id = try mistake.make(pair)
        if !isWritable { try pair.setWritable(true) }
        #expect(pair.seen[id]?.last == "reset \(mistake.code.networkCode)")
        #expect(calls.streams[1].events.last == "closed")
        #expect(pair.goAways == [] && pair.server.isActive)
        // The other call continues in both directions, and so do new ones.
        try pair.send("still", on: other)
        calls.streams[0].call.send(prefix: [], shared: ByteBuffer(string: "here"))
        try pair.carry()
        #expect(calls.streams[0].events == ["got still"])
        #expect(pair.seen[other]?.last == "message here")
        let next = try pair.call("/echo")
        try pair.send("new", on: next, ends: true)
        #expect(pair.seen[next]?.contains("message new") == true)
    }

    /// The stream is refused before there is a call.
    @Test func wrongHeaderFieldsEndTheirStreamAlone() throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        let other = try pair.call("/stream")
        // :method POST, :scheme http, :path /, and a name in upper case (RFC 9113 section 8.2.1).
        let id = try pair.rawCall([0x83, 0x86, 0x84] + Self.field("Te", "trailers"))
        #expect(try pair.writtenFrames() == [.reset(id, .protocolError)])
        try pair.send("still", on: other)
        #expect(calls.streams.map(\.events) == [["got still"]])
        #expect(pair.goAways == [])
    }

    /// Data for a reset stream uses the connection window, which is restored.
    @Test func dataForAResetStreamDoesNotExhaustTheConnection() throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        let other = try pair.call("/stream")
        let id = try Mistake.windowOpenedByNothing.make(pair)
        for _ in 0..<200 { try pair.frame(GRPCPair.data, on: id, Array(repeating: 7, count: 10_000)) }
        try pair.send(String(repeating: "w", count: 60_000), on: other)
        #expect(calls.streams[0].events.map(\.utf8.count) == [60_004])
        #expect(pair.goAways == [])
    }

    @Test func manyStreamsThatWereResetAreRemembered() throws {
        let pair = try GRPCPair(TestCalls())
        let ids = try (0..<100).map { _ in try Mistake.windowOpenedByNothing.make(pair) }
        for id in ids { try pair.frame(GRPCPair.data, on: id, [1]) }
        #expect(pair.goAways == [])
    }

    @Test(arguments: [
        (GRPCPair.ping, 0, [0], HTTP2ErrorCode.frameSizeError),
        (GRPCPair.data, 0, [1], .protocolError),
        (GRPCPair.data, 99, [1], .protocolError),
        (GRPCPair.windowUpdate, 0, [0, 0, 0, 0], .protocolError),
        (GRPCPair.windowUpdate, 0, [0x7F, 0xFF, 0xFF, 0xFF], .flowControlError),
        (GRPCPair.headers, 2, [0x83, 0x86, 0x84], .protocolError),
        (GRPCPair.headers, 99, [0xFF], .compressionError),
    ])
    func aMistakeOnTheConnectionEndsIt(_ type: UInt8, _ id: Int, _ payload: [UInt8], _ code: HTTP2ErrorCode) throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        _ = try pair.call("/stream")
        try pair.frame(type, flags: 0x4, on: HTTP2StreamID(id), payload)
        #expect(pair.goAways == [code])
        #expect(pair.lastStreamIDs == [1], "what nobody looked at may be repeated")
        #expect(pair.cutOffCount == 0)
        #expect(!pair.server.isActive)
        #expect(calls.streams[0].events == ["closed"])
        #expect(pair.grpc.connectionCount == 0)
    }

    /// Input after an error is counted and dropped.
    @Test func inputAfterAConnectionErrorIsBounded() throws {
        func failed() throws -> GRPCPair {
            let pair = try GRPCPair(TestCalls())
            pair.socket.closesByHalf = true
            try pair.frame(GRPCPair.ping, on: .rootStream, [0])
            #expect(pair.goAways.last == .frameSizeError && pair.grpc.connectionCount == 0)
            return pair
        }
        let flooding = try failed()
        for _ in 0..<3 {
            flooding.receive(ByteBuffer(repeating: 0, count: 65_536))
            #expect(flooding.server.isActive)
        }
        flooding.receive(ByteBuffer(repeating: 0, count: 65_536))
        #expect(!flooding.server.isActive)
        let silent = try failed()
        try silent.pass(seconds: 4)
        #expect(silent.server.isActive)
        try silent.pass(seconds: 1)
        #expect(!silent.server.isActive)
    }

    /// The channel and handlers below, such as TLS, report their errors.
    @Test func anErrorOfTheChannelEndsTheConnection() throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        _ = try pair.call("/stream")
        pair.server.pipeline.fireErrorCaught(ChannelError.inappropriateOperationForState)
        try pair.carry()
        #expect(pair.goAways == [.internalError] && pair.lastStreamIDs == [1] && !pair.server.isActive)
        #expect(calls.streams[0].events == ["closed"] && pair.grpc.connectionCount == 0 && pair.cutOffCount == 0)
    }

    /// A proxy's connection carries the calls of many.
    @Test func allCallsMayBeCancelledAndAsManyAgain() throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        for _ in 0..<2 {
            let ids = try (0..<128).map { _ in try pair.call("/stream") }
            for id in ids { try pair.write(id, .rstStream(.cancel)) }
        }
        #expect(calls.streams.count == 256 && calls.streams.allSatisfy { $0.events == ["closed"] })
        #expect(pair.goAways == [] && pair.server.isActive)
        // In one read; on a busy machine the rate permits some more than the burst meanwhile.
        let other = try GRPCPair(calls)
        var bytes = ByteBuffer()
        for id in stride(from: HTTP2StreamID(1), through: 4_001, by: 2) {
            bytes.writeImmutableBuffer(
                GRPCPair.bytes(GRPCPair.headers, flags: 0x4, on: id, GRPCPair.streamFields))
            bytes.writeImmutableBuffer(GRPCPair.bytes(GRPCPair.reset, on: id, [0, 0, 0, 8]))
        }
        other.receive(bytes)
        #expect(!other.server.isActive && other.cutOffCount == 1)
        let taken = calls.streams.count - 256
        #expect((257..<2_000).contains(taken))
        // The library would name none, and what was looked at would be repeated.
        #expect(try other.writtenFrames().last == .goAway(last: HTTP2StreamID(2 * taken - 1), .enhanceYourCalm))
    }

    /// Also mistakes of streams have their bound.
    @Test func aClientThatKeepsMakingMistakesIsCutOff() throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        let id = try pair.call("/echo")
        try pair.send("committed", on: id, ends: true)
        for _ in 0..<300 where pair.server.isActive { _ = try Mistake.windowOpenedByNothing.make(pair) }
        #expect(pair.goAways == [.enhanceYourCalm])
        #expect(pair.lastStreamIDs == [HTTP2StreamID(2 * calls.streams.count + 1)], "what ran is not to be repeated")
        #expect(!pair.server.isActive && pair.cutOffCount == 1)
    }
}
