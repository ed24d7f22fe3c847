import NIOCore
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

    @Test func streamsHearTheirClient() throws {
        let calls = TestCalls()
        let pair = try GRPCPair(calls)
        let id = try pair.call("/stream")
        #expect(pair.seen[id] == [Self.accepted], "told at once")
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

    @Test func tooLongAMessageEndsTheCall() throws {
        var configuration = GRPCConfiguration()
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
    @Test func whatArrivesIsBoundedForTheWholeServer() throws {
        let pair = try GRPCPair(TestCalls(), bodiesBytesMax: 20)
        let first = try pair.call("/echo")
        try pair.send("seven b", of: 10, on: first)
        let second = try pair.call("/echo")
        try pair.send("more", of: 10, on: second)
        #expect(
            pair.seen[second] == [
                Self.accepted
                    + " grpc-status=14 grpc-message=too many messages are arriving grpc-retry-pushback-ms=1000", "end",
            ])
        try pair.write(first, .data(.init(data: .byteBuffer(ByteBuffer(string: "end")), endStream: true)))
        #expect(pair.seen[first]?.contains("message seven bend") == true)
        // What was answered, or given up, keeps nothing.
        let third = try pair.call("/echo")
        try pair.send("seven b", of: 10, on: third)
        try pair.write(third, .rstStream(.cancel))
        let fourth = try pair.call("/echo")
        try pair.send("seven b", of: 7, on: fourth, ends: true)
        #expect(pair.seen[fourth]?.contains("message seven b") == true)
    }
}
