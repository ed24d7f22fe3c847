import NIOCore
import NIOEmbedded
import NIOHTTP2
import Testing

@testable import GRPC

@Suite struct GRPCServerTests {
    private static let accepted = ":status=200 content-type=application/grpc"

    @Test func aMessageIsAnswered() throws {
        let pair = try GRPCPair(TestCalls())
        let id = try pair.call("/echo")
        try pair.send("hello", on: id, ends: true)
        #expect(pair.seen[id] == [Self.accepted, "message hello", "grpc-status=0", "end"])
    }

    @Test func streamsGetTheMessagesOfTheirClient() throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        let id = try pair.call("/stream")
        #expect(pair.seen[id] == [Self.accepted], "answered at once")
        try pair.send("one", on: id)
        try pair.send("two", on: id, ends: true)
        #expect(calls.streams[0].events == ["got one", "got two", "input ended"])
        let call = calls.streams[0].call
        call.gathered {
            call.send(prefix: Array("a ".utf8), shared: ByteBuffer(string: "b"))
            call.send(prefix: [], shared: ByteBuffer(string: "c"))
        }
        call.finish(.ok)
        try pair.carry()
        #expect(pair.seen[id] == [Self.accepted, "message a b", "message c", "grpc-status=0", "end"])
        #expect(calls.streams[0].events.last == "closed")
        #expect(calls.streams[0].events.filter { $0 == "closed" }.count == 1)
    }

    @Test func anAnswerAfterTheEndOfTheInputGoesOutAtOnce() throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        let id = try pair.call("/stream", ends: true)
        calls.streams[0].call.finish(.ok)
        try pair.carry()
        #expect(pair.seen[id] == [Self.accepted, "grpc-status=0", "end"])
        #expect(calls.streams[0].events == ["input ended", "closed"])
    }

    @Test func tooLongAMessageEndsTheCall() throws {
        var configuration = GRPCPair.unhurried
        configuration.messageBytesMax = 10
        let pair = try GRPCPair(TestCalls(), configuration)
        let id = try pair.call("/echo")
        try pair.send("eleven", of: 11, on: id)
        #expect(
            pair.seen[id] == [
                Self.accepted + " grpc-status=8 grpc-message=a message is larger than 10 bytes", "end",
            ])
    }

    /// Bodies of all connections together, as over HTTP/1.1.
    @Test func requestBodiesOfAllConnectionsAreBoundedTogether() throws {
        let pair = try GRPCPair(TestCalls(), bodiesBytesMax: 20)
        let first = try pair.call("/echo")
        try pair.send("seven b", of: 10, on: first)
        let second = try pair.call("/echo")
        try pair.send("more", of: 10, on: second)
        #expect(
            pair.seen[second] == [
                Self.accepted
                    + """
                     grpc-status=14 grpc-message=the server's memory for request bodies is full \
                    grpc-retry-pushback-ms=1000
                    """,
                "end",
            ])
        try pair.write(first, .data(.init(data: .byteBuffer(ByteBuffer(string: "end")), endStream: true)))
        #expect(pair.seen[first]?.contains("message seven bend") == true)
        // Calls that were answered or given up hold no bytes.
        let third = try pair.call("/echo")
        try pair.send("seven b", of: 10, on: third)
        try pair.write(third, .rstStream(.cancel))
        let fourth = try pair.call("/echo")
        try pair.send("seven b", of: 7, on: fourth, ends: true)
        #expect(pair.seen[fourth]?.contains("message seven b") == true)
    }

    @Test func invalidCallsAreRefused() throws {
        let pair = try GRPCPair(TestCalls())
        let unknown = try pair.call("/other", ends: true)
        #expect(
            pair.seen[unknown] == [
                Self.accepted + " grpc-accept-encoding=identity grpc-status=12 grpc-message=no /other", "end",
            ])
        let empty = try pair.call("/echo", ends: true)
        #expect(pair.seen[empty] == [Self.accepted + " grpc-status=3 grpc-message=the call has no message", "end"])
        let late = try pair.call("/echo", with: [("grpc-timeout", "0S")])
        #expect(pair.seen[late]?.first?.contains("grpc-status=4") == true)
        let other = try pair.call("/echo", type: "application/json", ends: true)
        #expect(pair.seen[other] == [":status=415", "end"])
    }

    /// 100 windows of one stream and of the connection go through, padded or not.
    @Test func windowsAreOpenedAgain() throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        let id = try pair.call("/stream")
        let text = String(repeating: "w", count: 60_000)
        for _ in 0..<50 { try pair.send(text, on: id) }
        #expect(calls.streams[0].events.count == 50)
        let padded = try pair.call("/stream")
        for _ in 0..<2_000 {
            // Padding is counted by the window; NIO's client sends none.
            let payload: [UInt8] = [200, 0, 0, 0, 0, 1, 0x70] + Array(repeating: 0, count: 200)
            try pair.frame(GRPCPair.data, flags: 8, on: padded, payload)
        }
        #expect(calls.streams[1].events.count == 2_000)
    }

    /// However many frames come while the update waits for the socket.
    @Test func theWindowOfTheConnectionIsOpenedOnce() throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        let id = try pair.call("/stream")
        try pair.setWritable(false)
        try pair.send(String(repeating: "w", count: 40_000), on: id)
        for _ in 0..<100 { try pair.send("x", on: id) }
        #expect(pair.windowIncrements == [])
        try pair.setWritable(true)
        #expect(pair.windowIncrements.count == 1 && pair.windowIncrements[0] < 65_536)
        // And again the next time.
        for _ in 0..<3 { try pair.send(String(repeating: "w", count: 30_000), on: id) }
        #expect(pair.windowIncrements.count > 1 && calls.streams[0].events.count == 104)
    }

    @Test func aClientThatDoesNotReadIsNotReadFrom() throws {
        let (pair, id, stream) = try GRPCPair.withUnreadCall(of: 200_000)
        let call = stream.call
        #expect(call.pendingBytes > 100_000)
        // Its messages wait now, past one that was on its way, and its window closes.
        for _ in 0..<4 { try pair.send(String(repeating: "m", count: 30_000), on: id) }
        #expect(stream.events.filter { $0.hasPrefix("got") }.count == 1)
        // Another call is not held up.
        let other = try pair.call("/echo")
        try pair.send("quick", on: other, ends: true)
        #expect(call.pendingBytes > 100_000)
        pair.isReading = true
        try pair.read(id)
        try pair.read(other)
        #expect(call.pendingBytes == 0)
        #expect(stream.events.contains("pending 0"))
        #expect(stream.events.filter { $0.hasPrefix("got") }.count == 4)
        #expect(pair.seen[id]?.contains { $0.utf8.count == 200_008 } == true)
        #expect(pair.seen[other]?.contains("message quick") == true)
    }

    @Test func callsOfAConnectionAreBounded() throws {
        var configuration = GRPCPair.unhurried
        configuration.callsMax = 2
        let calls = TestCalls()
        let pair = try GRPCPair(calls, configuration)
        let ids = try (0..<3).map { _ in try pair.call("/stream") }
        #expect(calls.streams.count == 2, "the client keeps to the limit")
        try pair.write(ids[0], .rstStream(.cancel))
        #expect(calls.streams[0].events == ["closed"])
        #expect(calls.streams.count == 3)
    }

    @Test func tooLongHeadersEndTheConnection() throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        _ = try pair.call("/stream")
        _ = try pair.call("/echo", with: [("x-long", String(repeating: "h", count: 20_000))])
        #expect(pair.goAways == [.compressionError] && pair.lastStreamIDs == [1])
        #expect(!pair.server.isActive)
        #expect(calls.streams[0].events == ["closed"])
    }

    @Test func anAnsweredClientThatGoesOnIsReset() throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        let id = try pair.call("/stream")
        calls.streams[0].call.finish(.ok)
        try pair.carry()
        #expect(calls.streams[0].events == ["closed"])
        for _ in 0..<10 { try pair.send(String(repeating: "m", count: 30_000), on: id) }
        #expect(pair.seen[id]?.last == "end", "what comes is dropped")
        pair.server.embeddedEventLoop.advanceTime(by: .seconds(5))
        try pair.carry()
        #expect(pair.seen[id]?.last == "reset 0")
    }

    /// Each in its own time: unary calls whose clients do not end them, one that ends, and one that has still to be
    /// read.
    @Test func answeredCallsAreResetOneAfterTheOther() throws {
        let pair = try GRPCPair(TestCalls())
        let ids = try (0..<4).map { index in
            if index == 3 { pair.isReading = false }
            let id = try pair.call("/echo")
            try pair.send(String(repeating: "m", count: index == 3 ? 100_000 : 10), on: id)
            try pair.pass(seconds: 1)
            return id
        }
        let done = "reset \(HTTP2ErrorCode.noError.networkCode)"
        func reset() -> [Int] { ids.indices.filter { pair.seen[ids[$0]]?.last == done } }
        try pair.write(ids[1], .data(.init(data: .byteBuffer(ByteBuffer()), endStream: true)))
        #expect(reset() == [])
        try pair.pass(seconds: 1)
        #expect(reset() == [0])
        try pair.pass(seconds: 2)
        #expect(reset() == [0, 2], "the second has ended by itself")
        try pair.pass(seconds: 8)
        #expect(reset() == [0, 2])
        pair.isReading = true
        try pair.read(ids[3])
        #expect(pair.seen[ids[3]]?.last == "end")
        try pair.pass(seconds: 2)
        #expect(reset() == [0, 2], "it is given as long as the others")
        try pair.pass(seconds: 1)
        #expect(reset() == [0, 2, 3])
        // And again, when nothing was left to look after.
        let last = try pair.call("/echo")
        try pair.send("again", on: last)
        try pair.pass(seconds: 5)
        #expect(pair.seen[last]?.last == done && pair.cutOffCount == 0)
    }

    /// The stream is given up only when its client takes nothing for a while.
    @Test func anEndThatIsNotReadIsGivenUp() throws {
        let (pair, id, stream) = try GRPCPair.withUnreadCall(of: 200_000, ends: true)
        let call = stream.call
        call.finish(.ok)
        try pair.carry()
        try pair.pass(seconds: 29)
        #expect(call.pendingBytes > 100_000)
        try pair.read(id)
        try pair.pass(seconds: 29)
        let left = call.pendingBytes
        #expect(left > 0 && left < 150_000)
        try pair.pass(seconds: 1)
        #expect(pair.seen[id]?.last == "reset \(HTTP2ErrorCode.enhanceYourCalm.networkCode)")
        #expect(call.pendingBytes == 0)
    }

    @Test func aLostConnectionEndsItsCalls() throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        for _ in 0..<3 { _ = try pair.call("/stream") }
        pair.server.close(promise: nil)
        pair.server.embeddedEventLoop.run()
        #expect(calls.streams.allSatisfy { $0.events == ["closed"] && $0.call.pendingBytes == 0 })
        calls.streams[0].call.send(prefix: [], shared: ByteBuffer(string: "late"))
        calls.streams[0].call.finish(.ok)
        #expect(pair.grpc.connectionCount == 0)
    }
}
