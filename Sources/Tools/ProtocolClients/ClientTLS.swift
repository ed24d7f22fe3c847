package import NIOCore
import NIOSSL

/// A client's TLS configuration, shared by any number of connections.
package final class ClientTLS: Sendable {
    /// The certificates that a client accepts.
    package enum Trust: Sendable, Hashable {
        /// Certificates of the authorities that the system trusts.
        case system
        /// Certificates of the authorities in a PEM file only.
        case authorities(file: String)
        /// Any certificate. The connection can be intercepted: for tests only.
        case any
    }

    private let context: NIOSSLContext

    /// - Throws: `ClientError.invalidAddress` if the file is unusable.
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
        case .any: configuration.certificateVerification = .none
        }
        do {
            context = try NIOSSLContext(configuration: configuration)
        } catch {
            throw ClientError(.invalidAddress, "the TLS configuration is invalid: \(error)")
        }
    }

    /// Adds TLS as the lowest handler of the pipeline. If the host is an IP address, the certificate must contain it.
    func install(on channel: any Channel, host: String) throws {
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        try channel.pipeline.syncOperations.addHandler(
            NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host))
    }

    /// Translates an error of a pipeline with TLS; nil if it is not a TLS error.
    static func meaning(of error: any Error, at address: ServerAddress) -> ClientError? {
        if let error = error as? NIOSSLExtraError {
            // The error's own text repeats what the server sent.
            return error == .failedToValidateHostname
                ? ClientError(.refused, "the certificate of \(address) is for a different host name")
                : ClientError(.cannotConnect, "TLS with \(address) failed: \(error)")
        }
        guard let error = error as? NIOSSLError else { return nil }
        guard case .handshakeFailed(let cause) = error else {
            return ClientError(.cannotConnect, "TLS with \(address) failed: \(error)")
        }
        if "\(cause)".contains("CERTIFICATE_VERIFY_FAILED") {
            return ClientError(
                .refused, "the certificate of \(address) is not trusted; pass its authority's file with --cacert")
        }
        return ClientError(.cannotConnect, "TLS with \(address) failed: \(cause)")
    }
}

extension ClientTLS: Hashable {
    package static func == (one: ClientTLS, other: ClientTLS) -> Bool { one === other }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
