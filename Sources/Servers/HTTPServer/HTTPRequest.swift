package import NIOCore
package import NIOHTTP1

/// One complete request; its body has arrived and is within `bodyBytesMax`.
package struct HTTPRequest: Sendable {
    package let method: HTTPMethod
    /// The percent-decoded path without the query. Always starts with `/`, except for `OPTIONS *`.
    package let path: String
    /// The query as sent, without the `?`; nil if there is none.
    package let rawQuery: String?
    package let headers: HTTPHeaders
    package let body: ByteBuffer
    package let remoteAddress: SocketAddress?
    /// The peer's address without its port, as text.
    package let remoteIP: String?
    /// `If-None-Match` of a request that the parser has not seen.
    var ifNoneMatch: String?
    /// The application's value for this request and those that repeat it; nil if none is expected. Used on the
    /// connection's event loop only.
    package internal(set) var memo: RequestMemo?

    package init(
        method: HTTPMethod, path: String, rawQuery: String? = nil, headers: HTTPHeaders = [:],
        body: ByteBuffer = ByteBuffer(), remoteAddress: SocketAddress? = nil, remoteIP: String? = nil
    ) {
        self.method = method
        self.path = path
        self.rawQuery = rawQuery
        self.headers = headers
        self.body = body
        self.remoteAddress = remoteAddress
        self.remoteIP = remoteIP ?? remoteAddress?.ipAddress
    }

    /// The names and values of the query in order, decoded as `application/x-www-form-urlencoded`.
    package var queryItems: [(name: String, value: String)] {
        rawQuery.map(RequestTarget.queryItems) ?? []
    }

    /// Returns the first value of a query item.
    package func query(_ name: String) -> String? {
        queryItems.first { $0.name == name }?.value
    }

    /// Returns the first header field of that name, in any case.
    package func header(_ name: String) -> String? {
        if let ifNoneMatch, name == "if-none-match" { return ifNoneMatch }
        return headers.first(name: name)
    }
}

/// A parsed request target (RFC 9112 section 3.2).
struct RequestTarget: Equatable {
    var path: String
    var rawQuery: String?

    /// Parses a target. Nil unless it is in origin-form, absolute-form or `*` and the path's percent escapes are valid
    /// UTF-8 without NUL.
    init?(_ target: String) {
        var rest = Substring(target)
        if rest == "*" {
            path = "*"
            return
        }
        if !rest.hasPrefix("/") {
            guard let scheme = rest.utf8Range(of: "://") else { return nil }
            rest = rest[scheme.upperBound...]
            guard let pathStart = rest.utf8.firstIndex(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") })
            else {
                path = "/"
                return
            }
            rest = rest[pathStart...]
        }
        if let fragment = rest.utf8.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<fragment] }
        if let question = rest.utf8.firstIndex(of: UInt8(ascii: "?")) {
            rawQuery = String(rest[rest.utf8.index(after: question)...])
            rest = rest[..<question]
        }
        guard let decoded = Self.decodePath(rest) else { return nil }
        path = decoded.isEmpty ? "/" : decoded
    }

    private static func decodePath(_ raw: Substring) -> String? {
        if !raw.utf8.contains(UInt8(ascii: "%")) {
            return raw.utf8.contains(0) ? nil : String(raw)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(raw.utf8.count)
        var source = raw.utf8.makeIterator()
        while let byte = source.next() {
            if byte != UInt8(ascii: "%") {
                bytes.append(byte)
                continue
            }
            guard let high = source.next().flatMap(hexValue), let low = source.next().flatMap(hexValue) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
    }

    /// Decodes a query as browsers decode forms: `+` is a space, an invalid escape is kept, invalid UTF-8 becomes
    /// U+FFFD.
    static func queryItems(_ raw: String) -> [(name: String, value: String)] {
        raw.utf8.split(separator: UInt8(ascii: "&")).map { pair in
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return (decodeForm(parts[0]), parts.count > 1 ? decodeForm(parts[1]) : "")
        }
    }

    private static func decodeForm(_ raw: Substring.UTF8View) -> String {
        let source = Array(raw)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(source.count)
        var index = 0
        while index < source.count {
            let byte = source[index]
            if byte == UInt8(ascii: "%"), index + 2 < source.count, let high = hexValue(source[index + 1]),
                let low = hexValue(source[index + 2])
            {
                bytes.append(high << 4 | low)
                index += 3
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension Substring {
    fileprivate func utf8Range(of needle: String) -> Range<Index>? {
        let needle = Array(needle.utf8)
        var start = utf8.startIndex
        while start < utf8.endIndex {
            if utf8[start...].starts(with: needle) { return start..<utf8.index(start, offsetBy: needle.count) }
            start = utf8.index(after: start)
        }
        return nil
    }
}

extension HTTPHeaders {
    /// The values of `X-Forwarded-For`, joined by commas.
    var forwarded: String? {
        let parts = self[canonicalForm: "x-forwarded-for"]
        return parts.isEmpty ? nil : parts.joined(separator: ",")
    }
}

extension HTTPRequest {
    /// The values of `X-Forwarded-For`, joined by commas.
    package var forwarded: String? { headers.forwarded }
}
