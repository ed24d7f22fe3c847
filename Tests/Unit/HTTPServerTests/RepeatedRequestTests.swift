import NIOCore
import NIOHTTP1
import Testing

@testable import HTTPServer

@Suite struct RepeatedRequestTests {
    private static func head(_ fields: String, target: String = "/a") -> String {
        "GET \(target) HTTP/1.1\r\nHost: x\r\n\(fields)\r\n"
    }

    private static func partial(_ fields: [(String, String)] = []) throws -> PartialRequest {
        try PartialRequest(
            HTTPRequestHead(
                version: .http1_1, method: .GET, uri: "/a", headers: HTTPHeaders([("Host", "x")] + fields)),
            HTTPServerConfiguration())
    }

    private static func bytes(_ text: String) -> ByteBuffer { ByteBuffer(string: text) }

    @Test func aHeaderIsKnownAfterItsSecondTimeWhateverItsTag() throws {
        let repeated = RepeatedRequests(countMax: 4)
        let first = Self.bytes(Self.head("If-None-Match: \"1\"\r\nAccept: */*\r\n"))
        let second = Self.bytes(Self.head("If-None-Match: \"22\"\r\nAccept: */*\r\n"))
        let partial = try Self.partial([("If-None-Match", "\"1\""), ("Accept", "*/*")])
        #expect(repeated.learn(first, partial) == nil && repeated.find(first) == nil)
        let memo = try #require(repeated.learn(second, partial))
        let found = try #require(repeated.find(Self.bytes(Self.head("If-None-Match: \"3\"\r\nAccept: */*\r\n"))))
        #expect(found.ifNoneMatch == "\"3\"" && found.0.memo === memo)
        let request = found.0.partial.request(
            remoteAddress: nil, remoteIP: "192.0.2.1", ifNoneMatch: found.ifNoneMatch, memo: memo)
        #expect(request.header("if-none-match") == "\"3\"" && request.header("accept") == "*/*")
        #expect(request.path == "/a" && request.memo === memo && request.remoteIP == "192.0.2.1")
    }

    @Test(arguments: [
        // Another header, another target, another method, no tag, part of a request, two requests, a body.
        head("If-None-Match: \"3\"\r\nAccept: text/html\r\n"),
        head("If-None-Match: \"3\"\r\nAccept: */*\r\n", target: "/b"),
        "HEAD" + head("If-None-Match: \"3\"\r\nAccept: */*\r\n").dropFirst(3),
        head("Accept: */*\r\n"),
        String(head("If-None-Match: \"3\"\r\nAccept: */*\r\n").dropLast(2)),
        head("If-None-Match: \"3\"\r\nAccept: */*\r\n") + head("If-None-Match: \"3\"\r\nAccept: */*\r\n"),
        head("If-None-Match: \"3\"\r\nAccept: */*\r\n") + "x",
        head("If-None-Match: \"3\"\r\n\r\nGET /c HTTP/1.1\r\nAccept: */*\r\n"),
        head("If-None-Match: \"3\"\nX: y\r\nAccept: */*\r\n"),
        head("If-None-Match: \"3\"\r\nIf-None-Match: \"4\"\r\nAccept: */*\r\n"),
        head("If-None-Match:\r\nAccept: */*\r\n"),
        head("If-None-Match: \"a\", \"b\"\r\nIf-None-Match: \"3\"\r\nAccept: */*\r\n"),
    ])
    func anythingElseIsLeftToTheParser(_ text: String) throws {
        let repeated = RepeatedRequests(countMax: 4)
        let known = Self.bytes(Self.head("If-None-Match: \"1\"\r\nAccept: */*\r\n"))
        for _ in 0..<2 { _ = repeated.learn(known, try Self.partial([("If-None-Match", "\"1\"")])) }
        #expect(repeated.find(known) != nil)
        #expect(repeated.find(Self.bytes(text)) == nil)
    }

    @Test(arguments: [("Content-Length", "0"), ("Transfer-Encoding", "chunked"), ("Expect", "100-continue")])
    func aRequestThatAnnouncesMoreIsNotKept(_ name: String, _ value: String) throws {
        let repeated = RepeatedRequests(countMax: 4)
        let bytes = Self.bytes(Self.head("\(name): \(value)\r\n"))
        for _ in 0..<3 { #expect(repeated.learn(bytes, try Self.partial([(name, value)])) == nil) }
        #expect(repeated.find(bytes) == nil)
    }

    @Test func thoseRepeatedLatelyStayWhenOthersNeedRoom() throws {
        let repeated = RepeatedRequests(countMax: 2)
        func learn(_ number: Int) throws {
            for _ in 0..<2 { _ = repeated.learn(Self.bytes(Self.head("X: \(number)\r\n")), try Self.partial()) }
        }
        func isKnown(_ number: Int) -> Bool { repeated.find(Self.bytes(Self.head("X: \(number)\r\n"))) != nil }
        for number in 1...3 { try learn(number) }
        #expect([1, 2, 3].map(isKnown) == [false, false, true], "all were recent")
        try learn(4)
        #expect([3, 4].map(isKnown) == [true, true])
        #expect(RepeatedRequests(countMax: 0).learn(Self.bytes(Self.head("")), try Self.partial()) == nil)
    }

    /// The same requests over a real connection, with and without the parser.
    @Test func repeatedRequestsAreAnsweredLikeTheFirst() async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port)
            for round in 0..<5 {
                client.send("GET /echo HTTP/1.1\r\nHost: x\r\nIf-None-Match: \"\(round)\"\r\n\r\n")
                #expect(try client.response().body == "GET /echo [] ")
            }
            // Two in one read, and one in two.
            let text = "GET /echo HTTP/1.1\r\nHost: x\r\nIf-None-Match: \"9\"\r\n\r\n"
            client.send(text + text)
            for _ in 0..<2 { #expect(try client.response().body == "GET /echo [] ") }
            // One and the beginning of another, which goes on with what is known as a request of its own.
            let begun = "GET /echo?n=1 HTTP/1.1\r\nX: "
            for next in [text, text, "GET /echo?n=2 HTTP/1.1\r\nHost: x\r\n\r\n"] {
                client.send(text + begun)
                #expect(try client.response().body == "GET /echo [] ")
                client.send(next)
                #expect(try client.response().body == "GET /echo [n=1] ")
            }
            client.send(String(text.dropLast(7)))
            client.send(String(text.suffix(7)))
            #expect(try client.response().body == "GET /echo [] ")
        }
    }

    /// A client cannot teach the server another meaning of bytes that others send.
    @Test func theRestOfAHeaderIsNotLearnedAsARequest() async throws {
        try await withServer { port, _, _ in
            let known = "GET /echo?n=1 HTTP/1.1\r\nHost: lb\r\n\r\n"
            for _ in 0..<3 {
                let attacker = try RawClient(port: port)
                attacker.send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\nGET /echo?n=2 HTTP/1.1\r\nX: ")
                _ = try attacker.response()
                attacker.send(known)
                #expect(try attacker.response().body == "GET /echo [n=2] ")
            }
            let other = try RawClient(port: port)
            for _ in 0..<3 {
                other.send(known)
                #expect(try other.response().body == "GET /echo [n=1] ")
            }
        }
    }
}
