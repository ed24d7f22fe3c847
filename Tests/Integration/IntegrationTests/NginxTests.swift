import Foundation
import ProtocolClients
import TestSupport
import Testing

/// `deploy/nginx/freshet.conf`, as it stands but for its addresses, in a real nginx before real nodes.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct NginxTests {
    private static let program = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/bin/nginx"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    /// The configuration with other addresses.
    private static func configuration(
        http: Int, grpc: Int, api: ServerAddress, gateways: [ServerAddress]
    ) throws -> String {
        var text = try String(contentsOfFile: Repository.path("deploy/nginx/freshet.conf"), encoding: .utf8)
        func replace(_ line: String, _ other: String) throws {
            let parts = text.components(separatedBy: line)
            try #require(parts.count == 2, "\(line) stands there once")
            text = parts.joined(separator: other)
        }
        let options = "max_fails=2 fail_timeout=5s;"
        try replace("server 127.0.0.1:9399 \(options)", "server \(api.host):\(api.port) \(options)")
        try replace(
            "server 127.0.0.1:9419 \(options)",
            gateways.map { "server \($0.host):\($0.port) \(options)" }.joined(separator: " "))
        try replace("listen 8080;", "listen 127.0.0.1:\(http);")
        try replace("listen 8082 http2;", "listen 127.0.0.1:\(grpc) http2;")
        return text
    }

    @Test(.enabled(if: program != nil, "there is no nginx on this machine"))
    func everyWayToWaitForChangesGoesThroughNginx() async throws {
        let temporary = try TemporaryFolder()
        defer { temporary.remove() }
        let folder = temporary.path
        try await Cluster.with { cluster in
            let trusted = "http.trustedProxies=127.0.0.1"
            let api = try await cluster.start(roles: "api,worker", settings: [trusted])
            var gateways: [(address: ServerAddress, admin: ServerAddress)] = []
            for _ in 0..<2 {
                let gateway = try await cluster.start(roles: "api,gateway,admin", settings: [trusted])
                gateways.append((gateway.address, try #require(gateway.admin)))
            }
            let (http, grpc) = (BusyPort.listener(), BusyPort.listener())
            try Self.configuration(
                http: http.port, grpc: grpc.port, api: api.address, gateways: gateways.map(\.address)
            )
            .write(toFile: folder + "/freshet.conf", atomically: true, encoding: .utf8)
            let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
                "\($0)_temp_path \(folder)/\($0);"
            }
            try """
            daemon off;
            master_process off;
            pid \(folder)/nginx.pid;
            error_log stderr notice;
            events {}
            http {
                access_log off;
                \(temporary.joined(separator: "\n    "))
                include \(folder)/freshet.conf;
            }
            """.write(toFile: folder + "/nginx.conf", atomically: true, encoding: .utf8)
            close(http.descriptor)
            close(grpc.descriptor)
            let nginx = try FreshetProcess(
                ["-p", folder, "-e", "stderr", "-c", folder + "/nginx.conf"], executable: try #require(Self.program))
            // Its sockets are there by then.
            _ = try await nginx.line(containing: "getrlimit")
            do {
                try await PythonClients.run(
                    "proxy_client.py",
                    [
                        "http://127.0.0.1:\(http.port)", "127.0.0.1:\(grpc.port)",
                        gateways.map { "http://\($0.admin.host):\($0.admin.port)" }.joined(separator: ","),
                    ])
            } catch {
                Issue.record("\(error)\nnginx: \(nginx.output)")
            }
            await nginx.crash()
        }
    }
}
