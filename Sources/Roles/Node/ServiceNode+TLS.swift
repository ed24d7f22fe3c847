import HTTPServer
import Logging
import Settings

/// TLS on the public port.
extension ServiceNode {
    func openTLS() throws(NodeError) -> ServerTLS? {
        guard let certificateFile = settings.http.tlsCertificateFile, let keyFile = settings.http.tlsKeyFile else {
            return nil
        }
        do throws(TLSFilesError) {
            return try ServerTLS(certificateFile: certificateFile, keyFile: keyFile)
        } catch {
            throw NodeError("http.tls: \(error)")
        }
    }

    /// Looks at the files until the task is cancelled; a mistake in them changes nothing.
    func followTLSFiles(_ tls: ServerTLS) async {
        var lastError = ""
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(settings.http.tlsPollMs))
            do throws(TLSFilesError) {
                if try tls.reload() { logger.info("certificate changed") }
                lastError = ""
            } catch {
                // While one file is written before the other they do not fit: told once.
                guard error.description != lastError else { continue }
                lastError = error.description
                logger.error("http.tls not read, the certificate known serves", metadata: ["error": "\(error)"])
            }
        }
    }
}
