import JSON
import JWTKit
import NIOSSL

/// Reads keys in Google's certificate form, `{"KEY ID": "-----BEGIN CERTIFICATE-----…", …}`, with RSA of 2048 bits or
/// more, for RS256. Source: Firebase, "Verify ID tokens using a third-party JWT library",
/// `…/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com`.
///
/// The certificates are self-signed, so trust comes from the address they are fetched from; only their dates are
/// checked.
enum CertificateKey {
    static func isPEM(_ value: JSONValue) -> Bool {
        value.stringValue?.contains("-----BEGIN CERTIFICATE-----") ?? false
    }

    /// Returns the key of a certificate; nil if it is not a certificate or its key does not suit RS256.
    static func key(id: String, _ value: JSONValue) async -> VerificationKey? {
        guard let pem = value.stringValue, isPEM(value),
            let dates = try? NIOSSLCertificate(bytes: Array(pem.utf8), format: .pem),
            let key = try? Insecure.RSA.PublicKey(certificatePEM: pem)
        else { return nil }
        let name = JWKIdentifier(string: "key")
        guard
            let verifier = try? await JWTKeyCollection().add(rsa: key, digestAlgorithm: .sha256, kid: name)
                .getKey(for: name)
        else { return nil }
        let notBefore = Int64(dates.notValidBefore) * 1_000
        let notAfter = Int64(dates.notValidAfter) * 1_000
        guard notBefore <= notAfter else { return nil }
        return VerificationKey(id: id, algorithm: .rs256, verifier: verifier, validMs: notBefore...notAfter)
    }
}
