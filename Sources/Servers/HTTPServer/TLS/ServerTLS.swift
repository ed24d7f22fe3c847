import FoundationEssentials
package import NIOCore
import NIOSSL
import Synchronization

/// The reason that a certificate or its key cannot be used.
package struct TLSFilesError: Error, Sendable, CustomStringConvertible {
    package let description: String
}

/// The certificate of the public port, from files that may change while the server runs: new connections use what the
/// last `reload` read, existing ones keep theirs.
///
/// ALPN prefers HTTP/1.1; a client that offers only h2 (gRPC) gets h2. Only gRPC is served over HTTP/2, while browsers
/// and curl offer both protocols for what is served over HTTP/1.1.
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
    ///   - certificateFile: PEM, the server's certificate first, followed by the intermediate ones.
    ///   - keyFile: PEM, without a passphrase.
    package init(certificateFile: String, keyFile: String) throws(TLSFilesError) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        loaded = Mutex(
            try Self.load(try Self.read(certificateFile), try Self.read(keyFile), certificateFile, keyFile))
    }

    /// Reads the files again.
    /// - Throws: `TLSFilesError`; the certificate in use stays.
    /// - Returns: whether the files changed.
    package func reload() throws(TLSFilesError) -> Bool {
        let certificate = try Self.read(certificateFile)
        let key = try Self.read(keyFile)
        let isSame = loaded.withLock { $0.certificate == certificate && $0.key == key }
        if isSame { return false }
        let new = try Self.load(certificate, key, certificateFile, keyFile)
        loaded.withLock { $0 = new }
        return true
    }

    /// Makes the TLS handler for each connection, for `HTTPServer(tls:)`.
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
            // Fails if the key does not belong to the certificate.
            return Loaded(certificate: certificate, key: key, context: try NIOSSLContext(configuration: configuration))
        } catch {
            throw TLSFilesError(
                description: "the key in \(keyFile) does not match the certificate in \(certificateFile): \(error)")
        }
    }
}
