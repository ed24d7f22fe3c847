import NIOCore
import NIOHTTP1

/// A request with an accepted header and a body that is still arriving.
struct PartialRequest {
    private(set) var head: HTTPRequestHead
    let target: RequestTarget
    /// At most `bodyBytesMax`.
    var body = ByteBuffer()
    let expectsContinue: Bool
    /// Whether the header says anything about a body, even an empty one.
    let announcesBody: Bool
    /// Whether `Connection` lists `Upgrade`, for any protocol: NIO's parser stops after such a request.
    let wantsUpgrade: Bool
    let isWebSocket: Bool
    let keepAlive: Bool
    /// Whether the client prefers compressed bodies.
    let prefersGzip: Bool

    var isHTTP10: Bool { head.version.minor == 0 }
    var origin: String? { head.headers.first(name: "origin") }
    var isHead: Bool { head.method == .HEAD }
    var forwarded: String? { head.headers.forwarded }

    /// Checks the rules of RFC 9112 that NIO's parser leaves out, and the configured limits.
    init(_ head: HTTPRequestHead, _ configuration: HTTPServerConfiguration) throws(HTTPFailure) {
        guard head.uri.utf8.count <= configuration.targetBytesMax else { throw .targetTooLong }
        guard head.method != .CONNECT else {
            throw HTTPFailure(status: .methodNotAllowed, message: "CONNECT is not supported")
        }
        guard let target = RequestTarget(head.uri), target.path != "*" || head.method == .OPTIONS else {
            throw .badRequest("the request target is not valid")
        }
        let fields = KnownFields(head.headers)
        guard fields.hosts == 1 || (fields.hosts == 0 && head.version.minor == 0) else {
            throw .badRequest("exactly one Host field is required")
        }
        if let length = fields.contentLength {
            guard !length.isEmpty, length.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else {
                throw .badRequest("Content-Length is not a number")
            }
            guard let bytes = Int(Substring(length)), bytes <= configuration.bodyBytesMax else { throw .bodyTooLarge }
        }
        guard !fields.hasOtherTransferCoding else { throw .transferCoding }
        var expectsContinue = false
        if head.version.minor > 0, let expectation = fields.expectation {
            guard expectation.lowercased() == "100-continue" else { throw .badExpectation }
            expectsContinue = true
        }
        self.head = head
        self.target = target
        keepAlive = head.isKeepAlive
        prefersGzip = configuration.compression != nil && fields.codings.map(ContentCoding.prefersGzip) ?? false
        self.expectsContinue = expectsContinue
        announcesBody = fields.contentLength != nil || fields.hasTransferCoding
        wantsUpgrade =
            fields.hasUpgrade
            && head.headers[canonicalForm: "connection"].contains { $0.lowercased() == "upgrade" }
        isWebSocket =
            wantsUpgrade && head.method == .GET && head.version.minor > 0
            && head.headers[canonicalForm: "upgrade"].contains { $0.lowercased() == "websocket" }
    }

    /// Finds the `Origin` in the bytes of a header that is not complete or not valid; nil if there is none, or if its
    /// line has not ended.
    static func origin(in bytes: ByteBufferView) -> String? {
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = rest[..<end]
            rest = rest[rest.index(after: end)...]
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let name = String(decoding: line[..<colon], as: UTF8.self)
            guard name.utf8.count == 6, name.isSameField(as: "origin") else { continue }
            let value = String(
                decoding: line[line.index(after: colon)...].filter { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
            return String(Substring(KnownFields.trimmed(value)))
        }
        return nil
    }

    /// The same without `If-None-Match`, which differs from one request to the next.
    var withoutIfNoneMatch: PartialRequest {
        var other = self
        other.head.headers.remove(name: "if-none-match")
        return other
    }

    /// - Parameter ifNoneMatch: the field's value if the header does not hold it.
    func request(
        remoteAddress: SocketAddress?, remoteIP: String?, ifNoneMatch: String? = nil, memo: RequestMemo? = nil
    ) -> HTTPRequest {
        var request = HTTPRequest(
            method: head.method, path: target.path, rawQuery: target.rawQuery, headers: head.headers, body: body,
            remoteAddress: remoteAddress, remoteIP: remoteIP)
        request.ifNoneMatch = ifNoneMatch
        request.memo = memo
        return request
    }
}

/// The header fields needed from every request, found in one pass.
private struct KnownFields {
    /// The number of values, including several in one field separated by commas.
    private(set) var hosts = 0
    /// The header's value without blanks around it (RFC 9110 section 5.5).
    private(set) var contentLength: Substring.UTF8View?
    /// Whether a transfer coding other than `chunked` is applied (RFC 9112 section 6.1).
    private(set) var hasOtherTransferCoding = false
    private(set) var hasTransferCoding = false
    private(set) var expectation: String?
    private(set) var hasUpgrade = false
    /// `Accept-Encoding`, several joined by commas.
    private(set) var codings: String?

    init(_ headers: HTTPHeaders) {
        for (name, value) in headers {
            // By length first: most fields are none of these.
            switch name.utf8.count {
            case 4 where name.isSameField(as: "host"):
                hosts += value.utf8.count { $0 == UInt8(ascii: ",") } + 1
            case 6 where expectation == nil && name.isSameField(as: "expect"): expectation = value
            case 7 where name.isSameField(as: "upgrade"): hasUpgrade = true
            case 14 where contentLength == nil && name.isSameField(as: "content-length"):
                contentLength = Self.trimmed(value)
            case 15 where name.isSameField(as: "accept-encoding"):
                codings = codings.map { "\($0),\(value)" } ?? value
            case 17 where name.isSameField(as: "transfer-encoding"):
                hasTransferCoding = true
                let coding = Substring(Self.trimmed(value)).lowercased()
                if coding != "chunked" { hasOtherTransferCoding = true }
            default: break
            }
        }
    }

    fileprivate static func trimmed(_ value: String) -> Substring.UTF8View {
        func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var rest = value.utf8.drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return rest
    }
}

extension String {
    /// Compares a field name without regard to case (RFC 9110 section 5.1).
    /// - Parameter lowercased: the name in lower case; must have the same length.
    func isSameField(as lowercased: StaticString) -> Bool {
        var index = 0
        for byte in utf8 {
            let isUpper = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
            guard (isUpper ? byte | 0x20 : byte) == lowercased.utf8Start[index] else { return false }
            index += 1
        }
        return true
    }
}
