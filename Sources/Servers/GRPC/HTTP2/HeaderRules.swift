import NIOHPACK

/// Whether the header fields of a client are well formed. Source: RFC 9113 sections 8.2 and 8.3.
enum HeaderRules {
    /// - Returns: false if the request is malformed.
    static func isRequest(_ headers: HPACKHeaders) -> Bool {
        var method: String?
        var scheme: String?
        var path: String?
        var authority: String?
        var isPastPseudoFields = false
        for (name, value, _) in headers {
            guard name.utf8.first == UInt8(ascii: ":") else {
                isPastPseudoFields = true
                guard isRegular(name, value), name != "te" || value == "trailers" else { return false }
                continue
            }
            guard !isPastPseudoFields, isPseudoValue(value) else { return false }
            switch name {
            case ":method" where method == nil: method = value
            case ":scheme" where scheme == nil: scheme = value
            case ":path" where path == nil: path = value
            case ":authority" where authority == nil: authority = value
            default: return false
            }
        }
        if method == "CONNECT" { return authority != nil && scheme == nil && path == nil }
        return method != nil && scheme != nil && path?.isEmpty == false
    }

    /// - Returns: false if the trailers are malformed.
    static func isTrailers(_ headers: HPACKHeaders) -> Bool {
        headers.allSatisfy { isRegular($0.name, $0.value) }
    }

    /// The length that a request announces: nil if it announces none, -1 if the field is malformed.
    static func contentLength(_ headers: HPACKHeaders) -> Int? {
        var length: Int?
        for (name, value, _) in headers where name == "content-length" {
            guard value.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(value),
                length == nil || length == number
            else { return -1 }
            length = number
        }
        return length
    }

    private static func isRegular(_ name: String, _ value: String) -> Bool {
        switch name {
        case "connection", "transfer-encoding", "proxy-connection", "keep-alive", "upgrade": return false
        default: break
        }
        return !name.isEmpty && name.utf8.allSatisfy(isNameByte)
            && !value.utf8.contains { $0 == 0x00 || $0 == 0x0A || $0 == 0x0D }
    }

    /// A byte of a token (RFC 9110 section 5.6.2), but no capital.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x30...0x39, 0x5E...0x7A, 0x7C, 0x7E: true
        default: false
        }
    }

    private static func isPseudoValue(_ value: String) -> Bool {
        value.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    }
}
