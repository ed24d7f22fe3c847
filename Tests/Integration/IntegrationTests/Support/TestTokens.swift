import Crypto
import Foundation
import JSON

/// HS256 tokens for the test's own nodes (RFC 7515 appendix A.1).
enum TestTokens {
    static func signed(uid: String, secret: String, expiresAt: Int64) -> String {
        signed(uid: uid, secret: secret, expiresAt: .int(expiresAt))
    }

    /// - Parameter expiresAt: the claim `exp`; nil: there is none.
    static func signed(uid: String, secret: String, expiresAt: JSONValue? = .int(4_102_444_800)) -> String {
        let header: JSONValue = ["alg": "HS256", "typ": "JWT"]
        var payload: JSONObject = [
            "sub": .string(uid), "user_id": .string(uid), "firebase": ["sign_in_provider": "password"],
        ]
        payload["exp"] = expiresAt
        let text = base64URL(JSONWriter.compact(header)) + "." + base64URL(JSONWriter.compact(.object(payload)))
        let code = HMAC<SHA256>.authenticationCode(
            for: Array(text.utf8), using: SymmetricKey(data: Array(secret.utf8)))
        return text + "." + base64URL(Array(code))
    }

    static func base64URL(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }
}
