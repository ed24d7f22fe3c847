import HTTPServer
import Logging
import Settings

/// The certificate of the public port, read from files, and again when they change.
struct CertificateFiles: Sendable {
    let tls: ServerTLS
    let pollMs: Int
    let logger: Logger

    /// Nil without the settings.
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

    /// Reads the files again when they change; files with a mistake change nothing. Ends with the task.
    func follow() async {
        var lastError = ""
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(pollMs))
            do throws(TLSFilesError) {
                if try tls.reload() { logger.info("certificate changed") }
                lastError = ""
            } catch {
                // Key and certificate do not match while only one of them has been written: said once.
                guard error.description != lastError else { continue }
                lastError = error.description
                logger.error("http.tls not read, the known certificate serves", metadata: ["error": "\(error)"])
            }
        }
    }
}
