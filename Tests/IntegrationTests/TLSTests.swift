import FreshetClient
import Foundation
import Testing

/// TLS on the public port, with clients of PyPI.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct TLSTests {
    /// An authority, and a certificate of its for localhost that is made anew with another number.
    private struct Files {
        let folder: URL
        var authority: String { folder.appending(path: "ca.crt").path }
        var certificate: String { folder.appending(path: "server.crt").path }
        var key: String { folder.appending(path: "server.key").path }

        init() throws {
            folder = FileManager.default.temporaryDirectory.appending(path: "freshet-tls-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try shell(
                """
                openssl ecparam -name prime256v1 -genkey -noout -out ca.key
                openssl req -x509 -new -key ca.key -days 2 -subj "/CN=Freshet test CA" -out ca.crt
                """)
            try issue(serial: 101)
        }

        /// The key comes first, as certificates are renewed.
        func issue(serial: Int) throws {
            try shell(
                """
                openssl ecparam -name prime256v1 -genkey -noout -out server.key
                openssl req -new -key server.key -subj "/CN=localhost" -out server.csr
                printf "subjectAltName=DNS:localhost,IP:127.0.0.1" > server.ext
                openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -set_serial \(serial) -days 2 \
                  -extfile server.ext -out server.crt
                """)
        }

        private func shell(_ script: String) throws {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = ["-c", "set -e\n(\(script)) >/dev/null 2>&1"]
            process.currentDirectoryURL = folder
            try process.run()
            process.waitUntilExit()
            #expect(process.terminationStatus == 0)
        }
    }

    @Test func everyKindOfClientComesByTLSAndTheCertificateIsRenewed() async throws {
        let files = try Files()
        defer { try? FileManager.default.removeItem(at: files.folder) }
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway",
                settings: [
                    "http.tls.certificateFile=\(files.certificate)", "http.tls.keyFile=\(files.key)",
                    "http.tls.pollMs=100",
                ])
            let port = String(node.address.port)
            let first = try await PythonClients.run("tls_client.py", [port, files.authority])
            #expect(first.contains("serial 65") && first.contains("passed"), "\(first)")
            try files.issue(serial: 102)
            _ = try await node.process.line(containing: "certificate changed")
            let second = try await PythonClients.run("tls_client.py", [port, files.authority])
            #expect(second.contains("serial 66") && second.contains("passed"), "\(second)")
            try Data("nonsense".utf8).write(to: URL(fileURLWithPath: files.certificate))
            _ = try await node.process.line(containing: "http.tls not read")
            let third = try await PythonClients.run("tls_client.py", [port, files.authority])
            #expect(third.contains("serial 66") && third.contains("passed"), "what was loaded serves: \(third)")
        }
    }

    @Test func aKeyOfAnotherCertificateStopsTheStart() async throws {
        let (files, others) = (try Files(), try Files())
        defer { for files in [files, others] { try? FileManager.default.removeItem(at: files.folder) } }
        try await Cluster.with { cluster -> Void in
            await #expect {
                _ = try await cluster.start(
                    roles: "api",
                    settings: ["http.tls.certificateFile=\(files.certificate)", "http.tls.keyFile=\(others.key)"])
            } throws: { error in
                "\(error)".contains("http.tls:")
            }
        }
    }
}
