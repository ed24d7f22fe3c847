/// The distance over which a compressed body may refer to earlier bytes. A body is compressed once for each.
package enum DeflateWindow: Int, Sendable, CaseIterable {
    /// 4 KiB, for clients that ask for less than zlib's largest.
    case small = 12
    /// 32 KiB.
    case large = 15
}

/// `permessage-deflate` as agreed with one client (RFC 7692): no message refers to an earlier one, in either direction.
struct MessageDeflate: Hashable {
    let window: DeflateWindow
    /// Whether the client limited the window.
    private let isLimited: Bool

    /// Selects the first acceptable offer of `Sec-WebSocket-Extensions`; nil if there is none, or if the header is
    /// malformed.
    init?(offers header: String) {
        guard let offers = ExtensionList(header)?.extensions else { return nil }
        for offer in offers where offer.name == "permessage-deflate" {
            guard let accepted = Self(offer.parameters) else { continue }
            self = accepted
            return
        }
        return nil
    }

    private init?(_ parameters: [(name: String, value: String?)]) {
        guard Set(parameters.map(\.name)).count == parameters.count else { return nil }
        var bits = 15
        for (name, value) in parameters {
            switch (name, value) {
            case ("server_no_context_takeover", nil), ("client_no_context_takeover", nil): break
            // A larger window than the client uses does no harm.
            case ("client_max_window_bits", nil): break
            case ("client_max_window_bits", let value?): if Self.bits(value) == nil { return nil }
            case ("server_max_window_bits", let value?):
                // The server has a single smaller window, so that results are compressed at most twice.
                guard let wanted = Self.bits(value), wanted >= DeflateWindow.small.rawValue else { return nil }
                bits = wanted
            default: return nil
            }
        }
        isLimited = parameters.contains { $0.name == "server_max_window_bits" }
        window = bits < DeflateWindow.large.rawValue ? .small : .large
    }

    /// The value of the response's `Sec-WebSocket-Extensions`.
    var response: String {
        "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
            + (isLimited ? "; server_max_window_bits=\(window.rawValue)" : "")
    }

    /// 8 to 15, without leading zeros.
    private static func bits(_ value: String) -> Int? {
        guard let bits = Int(value), (8...15).contains(bits), String(bits) == value else { return nil }
        return bits
    }
}

/// The value of `Sec-WebSocket-Extensions` (RFC 6455 section 9.1).
private struct ExtensionList {
    private(set) var extensions: [(name: String, parameters: [(name: String, value: String?)])] = []
    private var rest: Substring.UTF8View

    /// - Returns: nil if the text is malformed.
    init?(_ text: String) {
        rest = Substring(text).utf8
        repeat {
            skipBlanks()
            if rest.first == UInt8(ascii: ",") || rest.isEmpty { continue }
            guard let name = token() else { return nil }
            var parameters: [(name: String, value: String?)] = []
            while takes(";") {
                guard let name = token() else { return nil }
                guard takes("=") else {
                    parameters.append((name, nil))
                    continue
                }
                guard let value = rest.first == UInt8(ascii: "\"") ? quoted() : token() else { return nil }
                parameters.append((name, value))
            }
            extensions.append((name, parameters))
        } while takes(",")
        if !rest.isEmpty { return nil }
    }

    private mutating func skipBlanks() {
        rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    }

    /// Takes a separator and the blanks around it.
    private mutating func takes(_ separator: Unicode.Scalar) -> Bool {
        skipBlanks()
        guard rest.first == UInt8(ascii: separator) else { return false }
        rest.removeFirst()
        skipBlanks()
        return true
    }

    private mutating func token() -> String? {
        let token = rest.prefix(while: Self.isTokenByte)
        rest = rest[token.endIndex...]
        return token.isEmpty ? nil : String(Substring(token))
    }

    /// A quoted string, whose value must be a token.
    private mutating func quoted() -> String? {
        rest.removeFirst()
        var value: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") {
                guard !value.isEmpty, value.allSatisfy(Self.isTokenByte) else { return nil }
                return String(decoding: value, as: UTF8.self)
            }
            if byte != UInt8(ascii: "\\") {
                value.append(byte)
            } else if let escaped = rest.popFirst() {
                value.append(escaped)
            }
        }
        return nil
    }

    /// RFC 9110 section 5.6.2.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
