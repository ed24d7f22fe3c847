import Glibc

/// A private certificate authority (`ca.crt`) in a folder of the test's, with certificates that it signed
/// (`server.crt`, `server.key`), and an authority that signed none of them (`other.crt`). Made with `openssl`.
package struct TestCertificates: Sendable {
    package struct Failed: Error, CustomStringConvertible {
        package let description: String
    }

    package let directory: String

    /// - Parameters:
    ///   - directory: exists.
    ///   - leaves: file name without ending -> subject alternative names, as in `DNS:redis.test,IP:127.0.0.1`.
    /// - Throws: `Failed`.
    package init(directory: String, leaves: [String: String]) throws(Failed) {
        self.directory = directory
        let script = """
            set -e
            cd "$0"
            key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }
            authority() { key "$1"; openssl req -x509 -new -key "$1.key" -days 2 -subj "/CN=Freshet test $1" -out \
            "$1.crt"; }
            leaf() {
              key "$1"
              openssl req -new -key "$1.key" -subj "/CN=$1" -out "$1.csr"
              printf "subjectAltName=%s" "$2" > "$1.ext"
              openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile "$1.ext" -out \
              "$1.crt"
            }
            authority ca
            authority other
            \(leaves.sorted { $0.key < $1.key }.map { "leaf \($0.key) '\($0.value)'" }.joined(separator: "\n"))
            """
        let words = ["/bin/sh", "-c", "(\(script)) >\"$0/log\" 2>&1", directory]
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var shell = pid_t()
        var status: Int32 = -1
        if posix_spawn(&shell, "/bin/sh", nil, nil, &arguments, environ) == 0 {
            while waitpid(shell, &status, 0) < 0, errno == EINTR {}
        }
        guard status == 0 else { throw Failed(description: "openssl failed: see \(directory)/log") }
    }

    package func path(_ file: String) -> String { directory + "/" + file }
}
