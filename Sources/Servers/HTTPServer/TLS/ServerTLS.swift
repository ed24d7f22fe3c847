import FoundationEssentials
package import NIOCore
import NIOSSL
import Synchronization

/// Why a certificate or its key cannot be used.
package struct TLSFilesError: Error, Sendable, CustomStringConvertible {
    package let description: String
}

/// The certificate of the public port, from files that may change while it serves: connections that begin after `reload`
/// get the new one, those that run keep theirs.
///
/// By ALPN a client that offers HTTP/1.1 gets that, and one that offers h2 alone (gRPC) gets h2: on HTTP/2 only gRPC is
/// spoken here, while browsers and curl offer both for what is on HTTP/1.1.
package final class ServerTLS: Sendable {
    private struct Loaded {
        let certificate: [UInt8]
        let key: [UInt8]
        let context: NIOSSLContext
    }

    static let applicationProtocols = ["http/1.1", "h2"]
    static let fileBytesMax = 1 << 20

    private let certificateFile: String
    private let keyFile: String
    private let loaded: Mutex<Loaded>

    /// - Parameters:
    ///   - certificateFile: PEM, the server's own certificate first, then those between it and an authority.
    ///   - keyFile: PEM, without a passphrase.
    package init(certificateFile: String, keyFile: String) throws(TLSFilesError) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        loaded = Mutex(
            try Self.load(try Self.read(certificateFile), try Self.read(keyFile), certificateFile, keyFile))
    }

    /// Reads the files again.
    /// - Throws: what is wrong with them; what was loaded before stays.
    /// - Returns: whether they are others than before.
    package func reload() throws(TLSFilesError) -> Bool {
        let certificate = try Self.read(certificateFile)
        let key = try Self.read(keyFile)
        let isSame = loaded.withLock { $0.certificate == certificate && $0.key == key }
        if isSame { return false }
        let new = try Self.load(certificate, key, certificateFile, keyFile)
        loaded.withLock { $0 = new }
        return true
    }

    /// For `HTTPServer(tls:)`.
    package var handlers: TLSHandlers {
        { [self] in [NIOSSLServerHandler(context: loaded.withLock { $0.context })] }
    }

    private static func read(_ path: String) throws(TLSFilesError) -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw TLSFilesError(description: "\(path) cannot be read")
        }
        guard data.count <= fileBytesMax else {
            throw TLSFilesError(description: "\(path) is larger than \(fileBytesMax) bytes")
        }
        return Array(data)
    }

    private static func load(
        _ certificate: [UInt8], _ key: [UInt8], _ certificateFile: String, _ keyFile: String
    ) throws(TLSFilesError) -> Loaded {
        let chain: [NIOSSLCertificate]
        let privateKey: NIOSSLPrivateKey
        do {
            chain = try NIOSSLCertificate.fromPEMBytes(certificate)
        } catch {
            throw TLSFilesError(description: "\(certificateFile) has no certificates in PEM: \(error)")
        }
        guard !chain.isEmpty else { throw TLSFilesError(description: "\(certificateFile) has no certificates in PEM") }
        do {
            privateKey = try NIOSSLPrivateKey(bytes: key, format: .pem)
        } catch {
            throw TLSFilesError(description: "\(keyFile) has no private key in PEM: \(error)")
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(privateKey))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = applicationProtocols
        do {
            // Fails where the key is not the certificate's.
            return Loaded(certificate: certificate, key: key, context: try NIOSSLContext(configuration: configuration))
        } catch {
            throw TLSFilesError(description: "\(certificateFile) and \(keyFile) do not fit: \(error)")
        }
    }
}
