import Crypto
import CryptoExtras
import Foundation
import JSON
import LiveModel
import Synchronization
import TestSupport
import Testing

@testable internal import Tokens

/// Makes keys, key sets and tokens, good and bad ones.
enum TokenFactory {
    enum Key: Sendable {
        case rsa(_RSA.Signing.PrivateKey)
        case ec(P256.Signing.PrivateKey)
        case secret([UInt8])

        func sign(_ text: [UInt8]) throws -> [UInt8] {
            switch self {
            case .rsa(let key):
                Array(try key.signature(for: SHA256.hash(data: text), padding: .insecurePKCS1v1_5).rawRepresentation)
            case .ec(let key): Array(try key.signature(for: SHA256.hash(data: text)).rawRepresentation)
            case .secret(let secret):
                Array(HMAC<SHA256>.authenticationCode(for: text, using: SymmetricKey(data: secret)))
            }
        }
    }

    // Once for all tests: making an RSA key takes a while.
    static let rsa = Result { Key.rsa(try _RSA.Signing.PrivateKey(keySize: .bits2048)) }
    static let otherRSA = Result { Key.rsa(try _RSA.Signing.PrivateKey(keySize: .bits2048)) }
    static let ec = Key.ec(P256.Signing.PrivateKey())
    static let secret = Key.secret(Array("0123456789abcdef0123456789abcdef".utf8))

    static let nowMs: Int64 = 1_700_000_000_000

    static func claims(_ changes: JSONObject = [:]) -> JSONObject {
        var claims: JSONObject = [
            "iss": "https://securetoken.google.com/demo", "aud": "demo", "sub": "ann", "user_id": "ann",
            "iat": .int(nowMs / 1000 - 10), "exp": .int(nowMs / 1000 + 3600), "role": "editor",
        ]
        claims.apply(changes)
        return claims
    }

    static func token(
        _ claims: JSONObject = claims(), alg: String = "RS256", kid: String? = "one", header: JSONObject = [:],
        key: Key?
    ) throws -> String {
        var fields: JSONObject = ["alg": .string(alg), "typ": "JWT"]
        if let kid { fields["kid"] = .string(kid) }
        fields.apply(header)
        let signed = [fields, claims].map { base64URL(JSONWriter.compact(.object($0))) }.joined(separator: ".")
        let signature = try key.map { base64URL(try $0.sign(Array(signed.utf8))) } ?? ""
        return "\(signed).\(signature)"
    }

    static func base64URL(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }

    static func jwk(_ key: Key, kid: String?, _ changes: JSONObject = [:]) throws -> JSONValue {
        var fields: JSONObject
        switch key {
        case .rsa(let key):
            let numbers = try key.publicKey.getKeyPrimitives()
            fields = [
                "kty": "RSA", "n": .string(base64URL(numbers.modulus)), "e": .string(base64URL(numbers.publicExponent)),
            ]
        case .ec(let key):
            let point = Array(key.publicKey.rawRepresentation)
            fields = [
                "kty": "EC", "crv": "P-256", "x": .string(base64URL(point[..<32])),
                "y": .string(base64URL(point[32...])),
            ]
        case .secret(let secret): fields = ["kty": "oct", "k": .string(base64URL(secret))]
        }
        if let kid { fields["kid"] = .string(kid) }
        fields.apply(changes)
        return .object(fields)
    }

    static func jwks(_ keys: [JSONValue]) -> [UInt8] {
        JSONWriter.compact(["keys": .array(keys)])
    }
}

extension JSONObject {
    /// Null takes the member away.
    fileprivate mutating func apply(_ changes: JSONObject) {
        for entry in changes { self[entry.key] = entry.value.isNull ? JSONValue?.none : entry.value }
    }
}

/// A key set that a test can change; counts how often it was fetched.
final class StubSource: Sendable {
    struct Broken: Error {}

    private let state: Mutex<(json: [UInt8]?, fetches: Int)>

    init(_ json: [UInt8]?) {
        state = Mutex((json, 0))
    }

    /// Nil: fetching fails.
    func set(_ json: [UInt8]?) { state.withLock { $0.json = json } }
    var fetches: Int { state.withLock { $0.fetches } }

    var source: KeySource {
        KeySource(name: "stub") {
            try self.state.withLock { state in
                state.fetches += 1
                guard let json = state.json else { throw Broken() }
                return json
            }
        }
    }
}

/// The message with which a token is refused.
func refusal(
    _ verifier: TokenVerifier, _ token: String, nowMs: Int64 = TokenFactory.nowMs
) async -> RequestError? {
    await failure { () async throws(RequestError) in try await verifier.verify(token, nowMs: nowMs) }
}
