import Glibc

@testable import Broker

/// A private certificate authority in a folder of the test's, with a server's certificate for 127.0.0.1 and
/// `redis.test`, one for that name alone, and a client's; and an authority that signed none of them. Made with `openssl`.
struct TestCertificates: Sendable {
    let directory: String

    /// A server that asks for no client certificate; for tests that leave it as it is.
    static let redis = Result { try TestRedis(port: .tls(asksClients: false)) }

    init(directory: String) throws {
        self.directory = directory
        let script = """
            set -e
            cd "$0"
            key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }
            key ca
            openssl req -x509 -new -key ca.key -days 2 -subj "/CN=Freshet test CA" -out ca.crt
            leaf() {
              key "$1"
              openssl req -new -key "$1.key" -subj "/CN=$1" -out "$1.csr"
              printf "subjectAltName=%s" "$2" > "$1.ext"
              openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile "$1.ext" -out "$1.crt"
            }
            leaf server "IP:127.0.0.1,DNS:redis.test"
            leaf named "DNS:redis.test"
            leaf client "DNS:client.test"
            key other
            openssl req -x509 -new -key other.key -days 2 -subj "/CN=Another CA" -out other.crt
            """
        let words: [String] = ["/bin/sh", "-c", "(\(script)) >\"$0/log\" 2>&1", directory]
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var shell = pid_t()
        guard posix_spawn(&shell, "/bin/sh", nil, nil, &arguments, environ) == 0 else { throw TestRedis.StartError() }
        var status: Int32 = 0
        while waitpid(shell, &status, 0) < 0, errno == EINTR {}
        guard status == 0 else { throw TestRedis.StartError() }
    }

    func path(_ file: String) -> String { directory + "/" + file }
}
