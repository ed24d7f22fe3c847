import Foundation
import JSON
import ProtocolClients
import TestSupport
import Testing

/// TLS on the public port, with clients of PyPI.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct TLSTests {
    /// An authority, and its certificate for localhost, which can be issued again with another serial number.
    private struct Files {
        private let temporary: TemporaryFolder
        var folder: URL { URL(filePath: temporary.path) }
        var authority: String { folder.appending(path: "ca.crt").path }
        var certificate: String { folder.appending(path: "server.crt").path }
        var key: String { folder.appending(path: "server.key").path }

        init() throws {
            temporary = try TemporaryFolder()
            try shell(
                """
                openssl ecparam -name prime256v1 -genkey -noout -out ca.key
                openssl req -x509 -new -key ca.key -days 2 -subj "/CN=Freshet test CA" -out ca.crt
                """)
            try issue(serial: 101)
        }

        func remove() { temporary.remove() }

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

    private typealias Node = (process: FreshetProcess, address: ServerAddress, admin: ServerAddress?)

    /// One node that has a certificate.
    private func withNode(_ settings: [String], _ body: (Node, Files) async throws -> Void) async throws {
        let files = try Files()
        defer { files.remove() }
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway",
                settings: ["http.tls.certificateFile=\(files.certificate)", "http.tls.keyFile=\(files.key)"] + settings)
            try await body(node, files)
        }
    }

    @Test func everyKindOfClientComesByTLSAndTheCertificateIsRenewed() async throws {
        try await withNode(["http.tls.pollMs=100"]) { node, files in
            let port = String(node.address.port)
            let first = try await PythonClients.run("tls_client.py", [port, files.authority])
            #expect(first.contains("serial 65"), "\(first)")
            try files.issue(serial: 102)
            _ = try await node.process.line(containing: "certificate changed")
            let second = try await PythonClients.run("tls_client.py", [port, files.authority])
            #expect(second.contains("serial 66"), "\(second)")
            try Data("nonsense".utf8).write(to: URL(fileURLWithPath: files.certificate))
            _ = try await node.process.line(containing: "http.tls files could not be read")
            let third = try await PythonClients.run("tls_client.py", [port, files.authority])
            #expect(third.contains("serial 66"), "what was loaded serves: \(third)")
        }
    }

    /// Runs one of our own commands to its end.
    private func freshet(_ arguments: [String], _ environment: [String: String] = [:]) async throws
        -> (code: Int32, output: String)
    {
        let process = try FreshetProcess(arguments, environment: environment)
        let status = await process.waitForExit()
        return (status, process.output)
    }

    @Test func ourOwnClientsSpeakTLS() async throws {
        try await withNode(["http.host=0.0.0.0"]) { node, files in
            #expect(node.process.output.contains("ready https://0.0.0.0:"))
            let port = node.address.port
            let url = "https://localhost:\(port)"
            let trust = ["--cacert", files.authority]
            let read = ["execute", "ClosingSoon", "--url", url]

            let good = try await freshet(read + trust)
            #expect(good.code == 0 && good.output.contains(#"{"data":{"lots":["#), "\(good)")
            #expect(try await freshet(read, ["FRESHET_CACERT": files.authority]).code == 0)
            #expect(try await freshet(read + ["--insecure"]).code == 0)
            #expect(
                try await freshet(["execute", "ClosingSoon", "--url", "wss://127.0.0.1:\(port)"] + trust).code == 0)
            let unknown = try await freshet(read)
            #expect(unknown.code == 1 && unknown.output.contains("is not trusted; pass"), "\(unknown)")
            let other = try await freshet(["execute", "ClosingSoon", "--url", "https://127.0.0.2:\(port)"] + trust)
            #expect(other.code == 1 && other.output.contains("is for a different host name"), "\(other)")
            let both = try await freshet(read + trust + ["--insecure"])
            #expect(both.code != 0 && both.output.contains("contradict"), "\(both)")
            let noFile = try await freshet(read + ["--cacert", files.folder.path + "/none.crt"])
            #expect(noFile.code == 1 && noFile.output.contains("has no certificates in PEM"), "\(noFile)")

            let refused = try await freshet(["subscribe", "ClosingSoon", "--url", url])
            #expect(refused.code == 1 && refused.output.contains("is not trusted"), "\(refused)")
            let follower = try FreshetProcess(
                ["subscribe", "ListLots", "--vars", #"{"category":"Books"}"#, "--count", "2", "--url", url]
                    + trust)
            let first = try await follower.line(containing: #"{"data":"#)
            let rows = try JSONParser.parse(Array(first.utf8))
            let id = try #require(rows["data"]?["lots"]?[0]?["id"]?.stringValue)
            let changed = try await freshet(
                [
                    "execute", "EditLot", "--vars",
                    #"{"id":"\#(id)","category":"Books","description":"over TLS"}"#, "--url", url,
                ] + trust)
            #expect(changed.code == 0, "\(changed)")
            _ = try await follower.line(containing: "over TLS")
            #expect(await follower.waitForExit() == 0)

            for transport in ["graphql-transport-ws", "longpoll", "sse"] {
                let load = try await freshet(
                    [
                        "load", Repository.path("config/load/many-keys.yaml"), "--subscribers", "12", "--rate", "5",
                        "--duration", "1", "--transport", transport, "--url", url,
                    ] + trust)
                #expect(load.code == 0, "\(transport): \(load)")
            }
            // The admin port has no TLS of its own; an address behind a proxy has. The public port answers that
            // it has no admin routes.
            let admin = try await freshet(["admin", "shards", "--url", url] + trust)
            #expect(admin.code == 1 && admin.output.contains("not found"), "\(admin)")
            #expect(try await freshet(["admin", "shards", "--url", url]).output.contains("is not trusted"))
        }
    }

    @Test func connectionsBeyondTheLimitAreRefusedSoon() async throws {
        try await withNode(["http.connectionsMax=16"]) { node, files in
            try await PythonClients.run(
                "full_client.py", [String(node.address.port), files.authority, "16"])
        }
    }

    @Test func aKeyOfAnotherCertificateStopsTheStart() async throws {
        let (files, others) = (try Files(), try Files())
        defer { for files in [files, others] { files.remove() } }
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
