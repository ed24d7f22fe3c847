import NIOCore
import NIOEmbedded
import NIOHTTP2
import Testing

@testable import GRPC

/// A server that leaves: the warning, the calls that were on their way, the last of them, the end. Source: RFC 9113
/// section 6.8.
@Suite struct GRPCGoAwayTests {
    /// That follows the warning.
    private static let ping: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 2]
    private static let accepted = ":status=200 content-type=application/grpc"

    private static func answerPing(_ pair: GRPCPair) {
        pair.receive(GRPCPair.bytes(GRPCPair.ping, flags: 0x1, on: .rootStream, ping))
    }

    /// A message of one letter.
    private static func receiveMessage(_ pair: GRPCPair, on id: HTTP2StreamID, ends: Bool = false) {
        pair.receive(GRPCPair.bytes(GRPCPair.data, flags: ends ? 0x1 : 0, on: id, [0, 0, 0, 0, 1, 0x70]))
    }

    @Test func goingAwayLetsCallsEnd() throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        let id = try pair.call("/stream")
        pair.grpc.goAway()
        try pair.carry()
        #expect(pair.goAways == [.noError, .noError] && pair.lastStreamIDs == [.maxID, id] && pair.server.isActive)
        calls.streams[0].call.send(prefix: [], shared: ByteBuffer(string: "last"))
        calls.streams[0].call.finish(GRPCStatus(code: 14, message: "leaving"))
        try pair.carry()
        #expect(pair.seen[id] == [Self.accepted, "message last", "grpc-status=14 grpc-message=leaving", "end"])
        #expect(pair.server.isActive, "the client has not ended the call")
        try pair.write(id, .data(.init(data: .byteBuffer(ByteBuffer()), endStream: true)))
        #expect(!pair.server.isActive)
        #expect(pair.goAways.count == 2 && pair.grpc.connectionCount == 0)
    }

    /// A client that does not answer the ping gets some time instead.
    @Test(arguments: [true, false]) func callsThatWereOnTheirWayAreServed(_ answersPing: Bool) throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        let id = try pair.call("/stream")
        pair.grpc.goAway()
        pair.server.embeddedEventLoop.run()
        #expect(
            try pair.writtenFrames() == [
                .goAway(last: .maxID, .noError), .init(type: GRPCPair.ping, id: .rootStream, payload: Self.ping),
            ])
        let echo = try pair.rawCall(GRPCPair.fields("/echo"))
        Self.receiveMessage(pair, on: echo, ends: true)
        #expect(try pair.writtenFrames().contains(.init(type: 0, id: echo, payload: [0, 0, 0, 0, 1, 0x70])))
        let second = try pair.rawCall(GRPCPair.streamFields)
        #expect(calls.streams.count == 2)
        _ = try pair.writtenFrames()
        if answersPing {
            Self.answerPing(pair)
        } else {
            pair.server.embeddedEventLoop.advanceTime(by: .seconds(5))
        }
        #expect(try pair.writtenFrames() == [.goAway(last: second, .noError)])

        // Later calls are ignored; running ones continue, and the end of the last one closes the connection.
        let late = try pair.rawCall(GRPCPair.streamFields)
        #expect(try pair.writtenFrames() == [.reset(late, .refusedStream)])
        Self.receiveMessage(pair, on: late)
        Self.answerPing(pair)
        pair.server.embeddedEventLoop.advanceTime(by: .seconds(5))
        #expect(try pair.writtenFrames() == [] && calls.streams.count == 2)
        for id in [id, second] { Self.receiveMessage(pair, on: id, ends: true) }
        #expect(calls.streams.map(\.events) == [["got p", "input ended"], ["got p", "input ended"]])
        calls.streams[0].call.finish(.ok)
        pair.server.embeddedEventLoop.run()
        #expect(pair.server.isActive)
        calls.streams[1].call.finish(.ok)
        pair.server.embeddedEventLoop.run()
        #expect(!pair.server.isActive && calls.streams.allSatisfy { $0.events.last == "closed" })
        #expect(try pair.writtenFrames().allSatisfy { $0.type == GRPCPair.headers && $0.id != late })
    }

    /// The connection becomes idle in the moment in which its client makes a call.
    @Test func aConnectionWithoutCallsWaitsForThoseOnTheirWay() throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        pair.grpc.goAway()
        pair.server.embeddedEventLoop.run()
        let id = try pair.rawCall(GRPCPair.fields("/echo"))
        Self.receiveMessage(pair, on: id, ends: true)
        pair.server.embeddedEventLoop.run()
        #expect(try pair.writtenFrames().contains(.init(type: 0, id: id, payload: [0, 0, 0, 0, 1, 0x70])))
        #expect(pair.server.isActive, "another may be on its way")
        Self.answerPing(pair)
        #expect(try pair.writtenFrames() == [.goAway(last: id, .noError)])
        #expect(!pair.server.isActive && pair.grpc.connectionCount == 0)

        let idle = try GRPCPair(calls)
        idle.grpc.goAway()
        try idle.carry()
        #expect(idle.lastStreamIDs == [.maxID, .rootStream] && !idle.server.isActive, "none was looked at")
    }

    /// Frames of ignored calls count all the same: by the window of the connection and by the header
    /// table.
    @Test func refusedCallsLeaveTheConnectionIntact() throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        let id = try pair.call("/stream")
        pair.grpc.goAway()
        try pair.carry()
        // Enters its header table (RFC 7541 section 6.2.1).
        let name = Array("x-late".utf8)
        let late = try pair.rawCall(GRPCPair.streamFields + [0x40, UInt8(name.count)] + name + [1, 0x31])
        for _ in 0..<20 {
            pair.receive(GRPCPair.bytes(GRPCPair.data, on: late, Array(repeating: 7, count: 10_000)))
        }
        for _ in 0..<5 {
            let message = [0, 0, 0, 0x27, 0x10] + Array(repeating: UInt8(7), count: 10_000)
            pair.receive(GRPCPair.bytes(GRPCPair.data, on: id, message))
        }
        // Trailers that name the entry by its number, the newest.
        pair.receive(GRPCPair.bytes(GRPCPair.headers, flags: 0x5, on: id, [0x80 | 62]))
        #expect(calls.streams.count == 1)
        #expect(
            calls.streams[0].events.map(\.utf8.count) == Array(repeating: 10_004, count: 5) + ["input ended".utf8.count]
        )
        #expect(pair.server.isActive)
        let frames = try pair.writtenFrames()
        #expect(frames.filter { $0.id == late } == [.reset(late, .refusedStream)])
        #expect(!frames.contains { $0.type == GRPCPair.goAway })
    }

    /// A client's own GOAWAY is of calls that we would begin, which there are none of.
    @Test func aClientThatLeavesGetsItsAnswers() throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        let id = try pair.call("/stream")
        try pair.frame(GRPCPair.goAway, on: .rootStream, [0, 0, 0, 0, 0, 0, 0, 0])
        try pair.send("still", on: id)
        calls.streams[0].call.send(prefix: [], shared: ByteBuffer(string: "here"))
        calls.streams[0].call.finish(.ok)
        try pair.carry()
        #expect(calls.streams[0].events == ["got still", "closed"])
        #expect(pair.seen[id] == [Self.accepted, "message here", "grpc-status=0", "end"])
        #expect(pair.goAways == [] && pair.server.isActive)
    }
}
