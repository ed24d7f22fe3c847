import JSON
import LiveModel
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable internal import Tokens

@Suite("Parts of token verification")
struct TokenPartsTests {
    @Test(arguments: [
        ("", [] as [UInt8]?), ("AA", [0]), ("AAA", [0, 0]), ("_-8", [255, 239]), ("AAAA", [0, 0, 0]), ("A", nil),
        ("AB", nil), ("AAB", nil), ("AA==", nil), ("A+AA", nil), ("A/AA", nil), ("AA\n", nil), ("AAAAA", nil),
    ])
    func base64URL(text: String, expected: [UInt8]?) {
        #expect(Base64URL.decode(Array(text.utf8)) == expected)
    }

    @Test("the cache is bounded and keeps what is used")
    func cache() {
        var cache = TokenCache(bytesMax: 100)
        let token = VerifiedToken(auth: Auth(uid: "a", token: [:]), expiresAtMs: nil)
        func digest(_ number: Int) -> Digest { Digest(of: Array("\(number)".utf8)) }
        for number in 0..<1000 {
            cache.insert(token, for: digest(number), bytes: 10)
            #expect(cache.count <= 10)
            #expect(cache.find(digest(0)) != nil)
        }
        #expect(cache.find(digest(1)) == nil)
        #expect(cache.find(digest(999)) != nil)
        cache.insert(token, for: digest(2000), bytes: 51)
        #expect(cache.find(digest(2000)) == nil)
        cache.remove(digest(999))
        #expect(cache.find(digest(999)) == nil)
        cache.removeAll()
        #expect(cache.count == 0)
    }

    @Test(arguments: [
        ("https://a.example/keys?x=1#f", "a.example", 443, "/keys?x=1", "a.example"),
        ("https://a.example", "a.example", 443, "/", "a.example"),
        ("http://127.0.0.1:8080/k", "127.0.0.1", 8080, "/k", "127.0.0.1:8080"),
        ("https://[::1]:444?q", "::1", 444, "/?q", "[::1]:444"),
    ])
    func addresses(text: String, host: String, port: Int, target: String, header: String) throws {
        let url = try #require(KeyURL(text))
        #expect(url.host == host && url.port == port && url.target == target && url.hostHeader == header)
    }

    @Test(arguments: [
        "", "ftp://a/", "https://", "https://u:p@a/", "https://a:0/", "https://a:99999/", "https://a:x/",
        "https://a/ b", "https://a/\r\nX: y", "https://é/", "https://[::1/",
    ])
    func badAddresses(text: String) {
        #expect(KeyURL(text) == nil)
    }

    private func download(bytesMax: Int = 10) throws -> (EmbeddedChannel, EventLoopFuture<[UInt8]>) {
        let channel = EmbeddedChannel()
        let answer = channel.eventLoop.makePromise(of: [UInt8].self)
        let url = try #require(KeyURL("https://a.example/keys"))
        try channel.pipeline.syncOperations.addHandler(
            KeyDownloadHandler(url: url, bytesMax: bytesMax, answer: answer))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return (channel, answer.futureResult)
    }

    private func body(_ text: String) -> HTTPClientResponsePart { .body(ByteBuffer(string: text)) }
    private func head(_ status: HTTPResponseStatus) -> HTTPClientResponsePart {
        .head(HTTPResponseHead(version: .http1_1, status: status))
    }

    @Test("a download sends one request and gathers the body")
    func downloads() throws {
        let (channel, answer) = try download()
        guard case .head(let request)? = try channel.readOutbound(as: HTTPClientRequestPart.self) else {
            Issue.record("no request")
            return
        }
        #expect(request.method == .GET && request.uri == "/keys" && request.headers["host"] == ["a.example"])
        try channel.writeInbound(head(.ok))
        try channel.writeInbound(body("12345"))
        try channel.writeInbound(body("67890"))
        try channel.writeInbound(HTTPClientResponsePart.end(nil))
        #expect(try answer.wait() == Array("1234567890".utf8))
    }

    @Test("a download fails on another status, a long body, and an early end")
    func failures() throws {
        let (first, status) = try download()
        try first.writeInbound(head(.found))
        #expect(throws: FetchError(code: .badStatus, detail: "302")) { try status.wait() }
        let (second, size) = try download()
        try second.writeInbound(head(.ok))
        try second.writeInbound(body("12345678901"))
        #expect(throws: FetchError(code: .tooLarge)) { try size.wait() }
        let (third, end) = try download()
        try third.writeInbound(head(.ok))
        try third.writeInbound(body("1"))
        try third.close().wait()
        #expect(throws: FetchError(code: .closedEarly)) { try end.wait() }
        #expect(FetchError(code: .badStatus, detail: "302").description == "the answer is not 200 (302)")
    }
}
