import JSON

/// A parsed token in compact JWS form (RFC 7515 section 7.1), not yet verified.
struct SignedToken {
    enum Algorithm: String {
        case rs256 = "RS256"
        case es256 = "ES256"
        case hs256 = "HS256"
        case none
    }

    let algorithm: Algorithm
    let keyID: String?
    /// The signed bytes: header and payload as sent.
    let signed: ArraySlice<UInt8>
    let signature: [UInt8]
    let claims: JSONObject

    private static let headerLimits = JSONLimits(depthMax: 8, bytesMax: 4096)
    private static let keyIDBytesMax = 256

    init(_ text: [UInt8], claimsDepthMax: Int = 32) throws(TokenFailure) {
        let parts = text.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw .malformed("it does not have three parts") }
        let header = try Self.object(parts[0], "header", Self.headerLimits)
        claims = try Self.object(parts[1], "payload", JSONLimits(depthMax: claimsDepthMax, bytesMax: text.count))
        guard let signature = Base64URL.decode(parts[2]) else { throw .malformed("its signature is not base64url") }
        self.signature = signature
        signed = text[..<parts[1].endIndex]
        // RFC 7515 section 4.1.11: a critical extension that is not understood makes the token invalid. None is
        // understood.
        guard header["crit"] == nil else { throw .malformed("its header has an unsupported critical extension") }
        guard let name = header["alg"]?.stringValue else { throw .malformed("its header has no alg") }
        guard let algorithm = Algorithm(rawValue: name) else { throw .algorithm }
        self.algorithm = algorithm
        switch header["kid"] {
        case nil: keyID = nil
        case .string(let text)? where text.utf8.count <= Self.keyIDBytesMax: keyID = text
        default: throw .malformed("its kid is not a string of at most \(Self.keyIDBytesMax) bytes")
        }
    }

    private static func object(
        _ part: ArraySlice<UInt8>, _ name: String, _ limits: JSONLimits
    ) throws(TokenFailure) -> JSONObject {
        guard let bytes = Base64URL.decode(part) else { throw .malformed("its \(name) is not base64url") }
        guard let object = (try? JSONParser.parse(bytes, limits: limits))?.objectValue else {
            throw .malformed("its \(name) is not a JSON object")
        }
        return object
    }
}
