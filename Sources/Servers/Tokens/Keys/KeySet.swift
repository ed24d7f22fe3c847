import JSON
import JWTKit

/// A key and the one algorithm that it verifies. The key decides the algorithm, never the token: otherwise an attacker
/// could sign with HS256, using a public RSA key as the secret.
struct VerificationKey: Sendable {
    let id: String?
    let algorithm: SignedToken.Algorithm
    /// A certificate's period of validity in milliseconds since 1970.
    let validMs: ClosedRange<Int64>?
    private let verifier: any JWTAlgorithm

    init(
        id: String?, algorithm: SignedToken.Algorithm, verifier: any JWTAlgorithm, validMs: ClosedRange<Int64>? = nil
    ) {
        self.validMs = validMs
        self.id = id
        self.algorithm = algorithm
        self.verifier = verifier
    }

    func verifies(_ token: SignedToken) -> Bool {
        // A malformed signature throws; treat it as a wrong one.
        token.algorithm == algorithm && (try? verifier.verify(token.signature, signs: token.signed)) == true
    }

    static func secret(_ secret: [UInt8]) async throws(TokenSetupError) -> VerificationKey {
        guard secret.count >= 32 else {
            throw TokenSetupError(code: .secretTooShort, description: "the HS256 secret must have 32 bytes or more")
        }
        do {
            let keys = await JWTKeyCollection().add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256)
            return VerificationKey(id: nil, algorithm: .hs256, verifier: try await keys.getKey())
        } catch {
            throw TokenSetupError(code: .keySetInvalid, description: "the HS256 secret cannot be used")
        }
    }
}

/// The usable keys of a JSON Web Key Set (RFC 7517 section 5): RSA of 2048 bits or more for RS256, P-256 for ES256.
/// Keys of other kinds, for encryption or with errors are ignored, as section 5 requires. Google's older form, an
/// object of certificates by key id, is accepted, too.
struct KeySet: Sendable {
    static let keysMax = 64

    let keys: [VerificationKey]
    /// The source text, to detect changes.
    let source: [UInt8]

    init(json: [UInt8]) async throws(TokenSetupError) {
        guard let root = try? JSONParser.parse(json, limits: JSONLimits(depthMax: 16, bytesMax: KeySource.bytesMax)),
            let object = root.objectValue
        else { throw TokenSetupError(code: .keySetInvalid, description: "it is not a JSON object") }
        var keys: [VerificationKey] = []
        if let entries = object["keys"]?.arrayValue {
            for entry in entries.prefix(Self.keysMax) {
                if let key = await Self.key(entry) { keys.append(key) }
            }
        } else if object.entries.contains(where: { CertificateKey.isPEM($0.value) }) {
            for entry in object.entries.prefix(Self.keysMax) {
                if let key = await CertificateKey.key(id: entry.key, entry.value) { keys.append(key) }
            }
        } else {
            throw TokenSetupError(
                code: .keySetInvalid, description: "it is neither a JSON Web Key Set nor certificates by key id")
        }
        guard !keys.isEmpty else {
            throw TokenSetupError(code: .keySetInvalid, description: "it has no key for RS256 or ES256")
        }
        self.keys = keys
        source = json
    }

    /// Returns the keys that may have signed the token: the one it names or, without a name, all of its algorithm.
    func candidates(for token: SignedToken) -> [VerificationKey] {
        guard let id = token.keyID else { return keys.filter { $0.algorithm == token.algorithm } }
        return keys.filter { $0.id == id }
    }

    private static func key(_ entry: JSONValue) async -> VerificationKey? {
        guard entry["use"]?.stringValue ?? "sig" == "sig" else { return nil }
        // JWTKit finds keys by id only, so each key gets its own collection.
        let name = JWKIdentifier(string: "key")
        let algorithm: SignedToken.Algorithm
        let key: JWK
        switch entry["kty"]?.stringValue {
        case "RSA":
            guard let modulus = entry["n"]?.stringValue, let exponent = entry["e"]?.stringValue else { return nil }
            algorithm = .rs256
            key = .rsa(.rs256, identifier: name, modulus: modulus, exponent: exponent)
        case "EC" where entry["crv"]?.stringValue == "P-256":
            guard let x = entry["x"]?.stringValue, let y = entry["y"]?.stringValue else { return nil }
            algorithm = .es256
            key = .ecdsa(.es256, identifier: name, x: x, y: y, curve: .p256)
        default: return nil
        }
        guard entry["alg"]?.stringValue ?? algorithm.rawValue == algorithm.rawValue,
            let verifier = try? await JWTKeyCollection().add(jwk: key).getKey(for: name)
        else { return nil }
        return VerificationKey(id: entry["kid"]?.stringValue, algorithm: algorithm, verifier: verifier)
    }
}
