import HTTPServer
import Logging
import Settings

/// The certificate of the public port, read from files and reloaded when they change.
struct CertificateFiles: Sendable {
    let tls: ServerTLS
    let pollMs: Int
    let logger: Logger

    /// Reads the files; nil if none are set.
    static func open(_ node: NodeContext) throws(NodeError) -> CertificateFiles? {
        let http = node.settings.http
        guard let certificateFile = http.tlsCertificateFile, let keyFile = http.tlsKeyFile else { return nil }
        do throws(TLSFilesError) {
            let tls = try ServerTLS(certificateFile: certificateFile, keyFile: keyFile)
            return CertificateFiles(tls: tls, pollMs: http.tlsPollMs, logger: node.logger)
        } catch {
            throw NodeError("http.tls: \(error)")
        }
    }

    /// Reloads the files when they change, until the task is cancelled; invalid files change nothing.
    func follow() async {
        var lastError = ""
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(pollMs))
            do throws(TLSFilesError) {
                if try tls.reload() { logger.info("certificate changed") }
                lastError = ""
            } catch {
                // While only one of the files has been written, key and certificate do not match: log that once.
                guard error.description != lastError else { continue }
                lastError = error.description
                logger.error(
                    "http.tls files could not be read; the previous certificate stays in use",
                    metadata: ["error": "\(error)"])
            }
        }
    }
}
