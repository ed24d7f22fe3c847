import Foundation
import Testing

/// A private authority in a folder, and the certificate of servers that call themselves `redis.test` wherever they are.
struct Certificates {
    static let name = "redis.test"
    let folder: String

    init(folder: String) async throws {
        self.folder = folder
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let script = """
            set -e
            cd "$0"
            key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }
            key ca
            openssl req -x509 -new -key ca.key -days 2 -subj "/CN=Freshet test CA" -out ca.crt
            key server
            openssl req -new -key server.key -subj "/CN=server" -out server.csr
            printf "subjectAltName=DNS:\(Self.name)" > server.ext
            openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile server.ext \
              -out server.crt
            """
        let process = try FreshetProcess(["-c", script, folder], executable: "/bin/sh")
        let code = await process.waitForExit()
        try #require(code == 0, "\(process.output)")
    }

    var caFile: String { folder + "/ca.crt" }

    /// For a node that is to believe these servers.
    var environment: [String: String] {
        [
            "FRESHET_REDIS_URL": "rediss://localhost", "FRESHET_REDIS_TLS_CA_FILE": caFile,
            "FRESHET_REDIS_TLS_SERVER_NAME": Self.name,
        ]
    }
}
