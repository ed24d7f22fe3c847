import NIOCore
import NIOHTTP1

/// A request whose header is accepted and whose body is arriving.
struct PartialRequest {
    let head: HTTPRequestHead
    let target: RequestTarget
    /// At most `bodyBytesMax`.
    var body = ByteBuffer()
    let expectsContinue: Bool
    /// `Upgrade` in `Connection`, of whatever protocol: NIO's parser stops behind such a request.
    let wantsUpgrade: Bool
    let isWebSocket: Bool

    var isHTTP10: Bool { head.version.minor == 0 }
    var keepAlive: Bool { head.isKeepAlive }

    /// The rules of RFC 9112 that NIO's parser leaves to us, and our limits.
    init(_ head: HTTPRequestHead, _ configuration: HTTPServerConfiguration) throws(HTTPFailure) {
        guard head.uri.utf8.count <= configuration.targetBytesMax else { throw .targetTooLong }
        guard head.method != .CONNECT else {
            throw HTTPFailure(status: .methodNotAllowed, message: "CONNECT is not supported")
        }
        guard let target = RequestTarget(head.uri), target.path != "*" || head.method == .OPTIONS else {
            throw .badRequest("the request target is not valid")
        }
        let hosts = head.headers[canonicalForm: "host"]
        guard hosts.count == 1 || (hosts.isEmpty && head.version.minor == 0) else {
            throw .badRequest("exactly one Host is required")
        }
        if let length = head.headers.first(name: "content-length") {
            guard let bytes = Int(length), bytes <= configuration.bodyBytesMax else { throw .bodyTooLarge }
        }
        var expectsContinue = false
        if head.version.minor > 0, let expectation = head.headers.first(name: "expect") {
            guard expectation.lowercased() == "100-continue" else { throw .badExpectation }
            expectsContinue = true
        }
        self.head = head
        self.target = target
        self.expectsContinue = expectsContinue
        let connection = head.headers[canonicalForm: "connection"].map { $0.lowercased() }
        wantsUpgrade = connection.contains("upgrade") && head.headers.contains(name: "upgrade")
        isWebSocket =
            wantsUpgrade && head.method == .GET && head.version.minor > 0
            && head.headers[canonicalForm: "upgrade"].contains { $0.lowercased() == "websocket" }
    }

    func request(remoteAddress: SocketAddress?) -> HTTPRequest {
        HTTPRequest(
            method: head.method, path: target.path, rawQuery: target.rawQuery, headers: head.headers, body: body,
            remoteAddress: remoteAddress)
    }
}
