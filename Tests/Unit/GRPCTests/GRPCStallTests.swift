import NIOCore
import NIOEmbedded
import NIOHTTP2
import Testing

@testable import GRPC

/// Clients that do not read what waits for them; the test sets the time.
@Suite struct GRPCStallTests {
    private static let reset = "reset \(HTTP2ErrorCode.enhanceYourCalm.networkCode)"

    @Test func aStreamThatIsNotReadIsResetAlone() throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        let ids = try (0..<3).map { _ in try pair.call("/stream") }
        let (slow, reading, idle) = (calls.streams[0], calls.streams[1], calls.streams[2])
        pair.giveUp(ids[0])
        slow.call.send(prefix: [], shared: ByteBuffer(repeating: 0x61, count: 200_000))
        try pair.carry()
        for second in 1...29 {
            try pair.pass(seconds: 1)
            reading.call.send(prefix: [], shared: ByteBuffer(string: "second \(second)"))
            try pair.carry()
        }
        #expect(slow.call.pendingBytes > 100_000 && !slow.events.contains("closed"))
        try pair.pass(seconds: 1)
        #expect(pair.seen[ids[0]]?.last == Self.reset)
        #expect(slow.events.last == "closed" && slow.call.pendingBytes == 0)

        // The one that read and the one that had nothing to read continue.
        for _ in 1...60 { try pair.pass(seconds: 1) }
        for stream in [reading, idle] {
            stream.call.send(prefix: [], shared: ByteBuffer(string: "later"))
            try pair.carry()
        }
        #expect(pair.seen[ids[1]]?.filter { $0.hasPrefix("message second") }.count == 29)
        #expect(pair.seen[ids[1]]?.last == "message later" && pair.seen[ids[2]]?.last == "message later")
        #expect(reading.events.allSatisfy { $0.hasPrefix("pending") } && idle.events.isEmpty)
        #expect(pair.goAways.isEmpty && pair.server.isActive)
        #expect(pair.cutOffCount == 1)
    }

    @Test func aClientThatReadsSlowlyIsNotStalled() throws {
        let (pair, id, stream) = try GRPCPair.withUnreadCall(of: 400_000)
        let call = stream.call
        for _ in 0..<6 {
            #expect(call.pendingBytes > 0)
            try pair.pass(seconds: 29)
            try pair.read(id)
        }
        #expect(call.pendingBytes == 0)
        #expect(pair.seen[id]?.last?.utf8.count == "message ".utf8.count + 400_000)
        // The next waiting message has its own time.
        try pair.pass(seconds: 29)
        call.send(prefix: [], shared: ByteBuffer(repeating: 0x61, count: 100_000))
        try pair.pass(seconds: 29)
        #expect(call.pendingBytes > 0 && pair.seen[id]?.contains(Self.reset) == false)
        try pair.pass(seconds: 1)
        #expect(pair.seen[id]?.last == Self.reset)
    }

    /// Also when its peer, which answers every ping, continues to send.
    @Test func aConnectionWhoseSocketTakesNothingIsCutOff() throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        let ids = try (0..<2).map { _ in try pair.call("/stream") }
        pair.socket.isFull = true
        calls.streams[0].call.send(prefix: [], shared: ByteBuffer(repeating: 0x61, count: 1_000))
        for _ in 1...29 {
            try pair.pass(seconds: 1)
            try pair.send("more", on: ids[1])
        }
        #expect(pair.server.isActive && calls.streams[0].call.pendingBytes > 1_000)
        try pair.pass(seconds: 1)
        #expect(!pair.server.isActive && pair.grpc.connectionCount == 0 && pair.cutOffCount == 1)
        #expect(calls.streams.allSatisfy { $0.events.last == "closed" })
    }

    /// The client is silent although it has nothing to read.
    @Test func aConnectionWithoutASignOfLifeIsCutOff() throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        _ = try pair.call("/stream")
        for _ in 1...100 { try pair.pass(seconds: 1) }
        #expect(pair.server.isActive && pair.cutOffCount == 0, "pings are answered")
        pair.server.embeddedEventLoop.advanceTime(by: .seconds(80))
        #expect(!pair.server.isActive && pair.cutOffCount == 1)
        #expect(calls.streams[0].events == ["closed"])
    }

    @Test func progressIsJudgedOnlyWhileSomethingWaits() {
        func at(_ seconds: UInt64) -> NIODeadline { .uptimeNanoseconds(seconds * 1_000_000_000) }
        var progress = WriteProgress()
        #expect(progress.stallDeadline(timeoutMs: 30_000) == nil)
        progress.accepted(10, now: at(100))
        progress.accepted(10, now: at(120))
        #expect(progress.stallDeadline(timeoutMs: 30_000) == at(130), "more to take is no progress")
        progress.taken(10, now: at(125))
        #expect(progress.stallDeadline(timeoutMs: 30_000) == at(155))
        progress.taken(10, now: at(126))
        #expect(progress.stallDeadline(timeoutMs: 30_000) == nil && progress.pendingBytes == 0)
        progress.accepted(1, now: at(500))
        #expect(progress.stallDeadline(timeoutMs: 30_000) == at(530))
    }
}
