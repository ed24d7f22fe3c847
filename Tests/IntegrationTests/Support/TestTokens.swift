import Crypto
import Foundation
import JSON

/// HS256 tokens for the test's own nodes (RFC 7515 appendix A.1).
enum TestTokens {
    static func signed(uid: String, secret: String, expiresAt: Int64 = 4_102_444_800) -> String {
        let header: JSONValue = ["alg": "HS256", "typ": "JWT"]
        let payload: JSONValue = [
            "sub": .string(uid), "user_id": .string(uid), "exp": .int(expiresAt),
            "firebase": ["sign_in_provider": "password"],
        ]
        let text = base64URL(JSONWriter.compact(header)) + "." + base64URL(JSONWriter.compact(payload))
        let code = HMAC<SHA256>.authenticationCode(
            for: Array(text.utf8), using: SymmetricKey(data: Array(secret.utf8)))
        return text + "." + base64URL(Array(code))
    }

    private static func base64URL(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }
}
