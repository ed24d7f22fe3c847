import NIOCore
import NIOHTTP1
import NIOWebSocket
import Testing

@testable import HTTPServer

@Suite struct RequestTargetTests {
    @Test(
        arguments: [
            ("/", "/", nil), ("/a/b", "/a/b", nil), ("/a?x=1", "/a", "x=1"), ("/a?", "/a", ""),
            ("/%41%2Fb", "/A/b", nil),
            ("/gr%C3%BCn", "/grün", nil), ("http://host:80/a?b", "/a", "b"), ("http://host", "/", nil),
            ("http://host?q", "/", "q"), ("*", "*", nil), ("/a#f", "/a", nil), ("/a?b?c", "/a", "b?c"),
        ] as [(String, String, String?)])
    func targetsHavePathAndQuery(_ target: String, _ path: String, _ query: String?) {
        let parsed = RequestTarget(target)
        #expect(parsed?.path == path)
        #expect(parsed?.rawQuery == query)
    }

    @Test(arguments: ["", "a", "host:80", "/%", "/%4", "/%zz", "/%00", "/%C3", "/%ED%A0%80", "?a"])
    func otherTargetsAreRefused(_ target: String) {
        #expect(RequestTarget(target) == nil)
    }

    @Test func queriesAreDecodedAsForms() {
        let request = HTTPRequest(
            method: .GET, path: "/", rawQuery: "a=1&a=2&&b=%7B%22x%22%3A+1%7D&c&d=%zz%4&e=%ff&=f&g=h=i")
        #expect(request.queryItems.map(\.name) == ["a", "a", "b", "c", "d", "e", "", "g"])
        #expect(request.queryItems.map(\.value) == ["1", "2", #"{"x": 1}"#, "", "%zz%4", "\u{FFFD}", "f", "h=i"])
        #expect(request.query("a") == "1")
        #expect(request.query("z") == nil)
    }
}

@Suite struct ResponseHeadTests {
    private func encoded(_ head: ResponseHead) -> String {
        var buffer = ByteBuffer()
        head.encode(into: &buffer, date: Array("DATE".utf8))
        return String(buffer: buffer)
    }

    @Test func framingHeadersOfTheApplicationAreReplaced() {
        let head = ResponseHead(
            status: .ok,
            headers: ["x-a": "1", "Content-Length": "99", "transfer-encoding": "gzip", "Connection": "close"],
            framing: .length(3), keepAlive: true, isHTTP10: false)
        #expect(encoded(head) == "HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 3\r\nDate: DATE\r\n\r\n")
    }

    @Test(
        arguments: [
            ("sec-websocket-protocol", "Sec-WebSocket-Protocol"), ("etag", "ETag"), ("im", "IM"),
            ("sec-websocket-extensions", "Sec-WebSocket-Extensions"),
            ("www-authenticate", "WWW-Authenticate"), ("access-control-allow-origin", "Access-Control-Allow-Origin"),
            ("Retry-After", "Retry-After"), ("x-1a--b-", "X-1a--B-"),
        ])
    func namesHaveTheirCustomaryCapitals(_ name: String, _ written: String) {
        let head = ResponseHead(
            status: .ok, headers: HTTPHeaders([(name, "v")]), framing: .none, keepAlive: true, isHTTP10: false)
        #expect(encoded(head) == "HTTP/1.1 200 OK\r\n\(written): v\r\nDate: DATE\r\n\r\n")
    }

    @Test func http10KeepsAliveByWord() {
        let head = ResponseHead(status: .ok, headers: [:], framing: .length(0), keepAlive: true, isHTTP10: true)
        #expect(encoded(head).contains("\r\nConnection: keep-alive\r\n"))
    }

    @Test func aReasonCannotSplitTheHeader() {
        let head = ResponseHead(
            status: .custom(code: 299, reasonPhrase: "x\r\ny: z"), headers: [:], framing: .none, keepAlive: false,
            isHTTP10: false)
        #expect(encoded(head) == "HTTP/1.1 299 \r\nConnection: close\r\nDate: DATE\r\n\r\n")
    }
}

@Suite struct FrameHeaderTests {
    @Test(
        arguments: [
            (0, [0x81, 0]), (125, [0x81, 125]), (126, [0x81, 126, 0, 126]), (65_535, [0x81, 126, 255, 255]),
            (65_536, [0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] as [(Int, [UInt8])])
    func textFramesHaveTheShortestHeader(_ length: Int, _ expected: [UInt8]) {
        let frame = EncodedTextFrame(text: ByteBuffer(repeating: 65, count: length))
        #expect(Array(frame.bytes.readableBytesView.prefix(expected.count)) == expected)
        #expect(frame.byteCount == expected.count + length)
    }
}

@Suite struct BurstAllocatorTests {
    @Test func growsInABurstAndIsSmallAfterIt() {
        var allocator = BurstAllocator()
        func size() -> Int { allocator.buffer(allocator: ByteBufferAllocator()).capacity }
        #expect(size() == 512)
        for _ in 0..<5 { _ = allocator.record(actualReadBytes: size()) }
        #expect(size() == BurstAllocator.burstBytesMax)
        _ = allocator.record(actualReadBytes: 100)
        #expect(size() == 512)
    }
}
