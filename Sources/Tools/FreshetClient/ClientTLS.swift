package import NIOCore
import NIOSSL

/// How a client knows the servers that it speaks TLS with. One for any number of connections.
package final class ClientTLS: Sendable {
    package enum Trust: Sendable, Hashable {
        /// The authorities that the system trusts.
        case system
        /// Those of a PEM file, and no others.
        case authorities(file: String)
        /// Anybody. Whoever is between client and server can read along: for tests only.
        case anybody
    }

    private let context: NIOSSLContext

    /// - Throws: `ClientError.invalidAddress` when the file cannot be used.
    package init(_ trust: Trust) throws(ClientError) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        switch trust {
        case .system: break
        case .authorities(let file):
            let certificates: [NIOSSLCertificate]
            do {
                certificates = try NIOSSLCertificate.fromPEMFile(file)
            } catch {
                throw ClientError(.invalidAddress, "\(file) has no certificates in PEM: \(error)")
            }
            guard !certificates.isEmpty else {
                throw ClientError(.invalidAddress, "\(file) has no certificates in PEM")
            }
            configuration.trustRoots = .certificates(certificates)
        case .anybody: configuration.certificateVerification = .none
        }
        do {
            context = try NIOSSLContext(configuration: configuration)
        } catch {
            throw ClientError(.invalidAddress, "TLS cannot be set up: \(error)")
        }
    }

    /// Below everything else of the channel's pipeline. A server named by its address must have that in its certificate.
    func install(on channel: any Channel, host: String) throws {
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        try channel.pipeline.syncOperations.addHandler(
            NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host))
    }

    /// What an error of a pipeline with TLS in it means; nil: it is none of TLS.
    static func meaning(of error: any Error, at address: ServerAddress) -> ClientError? {
        if let error = error as? NIOSSLExtraError {
            // Its own text repeats what the server sent.
            return error == .failedToValidateHostname
                ? ClientError(.refused, "the certificate of \(address) is for another name")
                : ClientError(.cannotConnect, "no TLS with \(address): \(error)")
        }
        guard let error = error as? NIOSSLError else { return nil }
        guard case .handshakeFailed(let cause) = error else {
            return ClientError(.cannotConnect, "no TLS with \(address): \(error)")
        }
        if "\(cause)".contains("CERTIFICATE_VERIFY_FAILED") {
            return ClientError(
                .refused, "the certificate of \(address) is not trusted; --cacert names the file of its authority")
        }
        return ClientError(.cannotConnect, "no TLS with \(address): \(cause)")
    }
}

extension ClientTLS: Hashable {
    package static func == (one: ClientTLS, other: ClientTLS) -> Bool { one === other }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
