import JSON
import LiveModel

/// The sender of a request to the admin port, as far as that is proven.
enum AdminCaller: Sendable, Hashable {
    /// Anyone: no token is needed.
    case anyone
    /// A holder of `admin.token`: an operator, a program or another node.
    case tokenHolder
    case user(Auth)

    /// The caller in the audit log.
    var description: String {
        switch self {
        case .anyone: "no token"
        case .tokenHolder: "admin token"
        case .user: "user \(name ?? "")"
        }
    }

    /// The user's `sub` and, if there is one, `email`, in printable ASCII; nil without a user.
    var name: String? {
        guard case .user(let auth) = self else { return nil }
        let email = auth.token["email"]?.stringValue.map { " (\(Self.printable($0)))" } ?? ""
        return Self.printable(auth.uid) + email
    }

    /// When the user's token expires, in milliseconds since 1970; nil without a user.
    var expiresAtMs: Int64? {
        guard case .user(let auth) = self, let seconds = auth.token["exp"]?.doubleValue else { return nil }
        return Int64(max(0, min(seconds, Self.secondsMax)) * 1_000)
    }

    /// Later than any token's end.
    private static let secondsMax = 1e11
    private static let nameBytesMax = 100

    /// Replaces what would forge a line of the log or break a header.
    private static func printable(_ text: String) -> String {
        String(text.unicodeScalars.prefix(nameBytesMax).map { (0x20...0x7E).contains($0.value) ? Character($0) : "?" })
    }
}
