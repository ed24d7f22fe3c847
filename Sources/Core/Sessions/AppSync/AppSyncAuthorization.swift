import JSON
import LiveModel

/// The identity that an AppSync client claims: an object of the headers that a request would have, `{"host",
/// "Authorization"}` or `{"host", "x-api-key"}`. It comes with the handshake, and again with every start.
///
/// Sources: AWS AppSync developer guide, "Building a real-time WebSocket client"; gql's `appsync_auth.py`;
/// amplify-swift.
package enum AppSyncAuthorization: Sendable, Hashable {
    case signedOut
    case bearer(String)
    /// Names an app, not a user.
    case apiKey(String)
    /// Anything but base64 of a JSON object.
    case malformed

    /// The scheme is optional.
    package init(authorization: String?) {
        guard let authorization, !authorization.isEmpty else {
            self = .signedOut
            return
        }
        self = .bearer(BearerToken.inHeader(authorization) ?? authorization)
    }

    /// Reads the headers of the upgrade, as amplify-swift sends them. The scheme is optional.
    package init(header: (String) -> String?) {
        self.init(authorization: header("authorization"))
        if self == .signedOut { self.init(Credentials(header: header)) }
    }

    /// A token takes precedence over a key.
    init(_ credentials: Credentials) {
        self =
            if let bearer = credentials.bearer, !bearer.isEmpty {
                .bearer(bearer)
            } else if let key = credentials.apiKey, !key.isEmpty {
                .apiKey(key)
            } else {
                .signedOut
            }
    }

    var credentials: Credentials {
        switch self {
        case .bearer(let bearer): .bearer(bearer)
        case .apiKey(let key): .apiKey(key)
        case .signedOut, .malformed: .none
        }
    }

    /// Reads the query item `header`, decoded as a form: base64, in which `+` became a space if the client did not
    /// escape it; or from a subprotocol `header-…`, base64url without padding.
    package init(base64: some StringProtocol) {
        guard let bytes = Base64.decode(base64), let object = SessionMessage.object(bytes) else {
            self = .malformed
            return
        }
        self.init(object)
    }

    init(_ object: JSONObject) {
        func text(_ name: String) -> String? {
            object.entries.first { $0.key.lowercased() == name }?.value.stringValue
        }
        self.init(authorization: text("authorization"))
        if self == .signedOut { self.init(Credentials(apiKey: text("x-api-key"))) }
    }
}

/// RFC 4648, both alphabets; padding is optional.
enum Base64 {
    /// Nil for a character outside the alphabets, or an impossible length.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var digits = Array(text.utf8)
        while digits.last == UInt8(ascii: "=") { digits.removeLast() }
        guard digits.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var bits: UInt32 = 0
        var count = 0
        for digit in digits {
            guard let value = value(of: digit) else { return nil }
            bits = bits << 6 | value
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return bytes
    }

    private static func value(of digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: " "): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
