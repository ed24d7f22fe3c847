import Foundation
import JSON
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// `deploy/prometheus` and `deploy/grafana` with a real Prometheus over two nodes: every target is up behind the admin
/// token, every query of the dashboard has series, and a healthy cluster raises no alert.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct PrometheusTests {
    private static let program = "/usr/bin/prometheus"
    private static let token = "a-long-admin-token"

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: Self.program), "there is no Prometheus"))
    func scrapesEveryNodeAndAnswersEveryQueryOfTheDashboard() async throws {
        try await Cluster.with { cluster in
            let settings = ["admin.token=\(Self.token)"]
            let front = try await cluster.start(roles: "api,gateway,admin", settings: settings)
            let worker = try await cluster.start(roles: "worker,admin", settings: settings)
            let targets = [try #require(front.admin), try #require(worker.admin)].map { "\($0.host):\($0.port)" }
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            try folder.write(["token": Self.token, "prometheus.yaml": try Self.configuration(targets, folder.path)])
            let server = try FreshetProcess(
                [
                    "--config.file=\(folder.path)/prometheus.yaml", "--storage.tsdb.path=\(folder.path)/data",
                    "--web.listen-address=127.0.0.1:0",
                ], executable: Self.program)
            do {
                let line = try await server.line(containing: "Listening on")
                let port = try #require(line.firstMatch(of: #/address=127\.0\.0\.1:(\d+)/#)?.1)
                try await check(try ServerAddress("http://127.0.0.1:\(port)"), targets, front.address)
            } catch {
                await server.crash()
                throw error
            }
            await server.crash()
        }
    }

    /// The file of deploy/, but for the names of containers, the token's place, and intervals of a second. Nothing
    /// answers for HAProxy here.
    private static func configuration(_ targets: [String], _ folder: String) throws -> String {
        let lines = try Repository.text("deploy/prometheus/prometheus.yaml").split(separator: "\n")
        let start = try #require(lines.firstIndex { $0.contains("job_name: haproxy") })
        var text = lines[..<start].joined(separator: "\n")
        let names = """
            dns_sd_configs:
                  - names: [api, worker, gateway]
                    type: A
                    port: 9398
                    refresh_interval: 10s
            """
        let list = targets.map { "'\($0)'" }.joined(separator: ", ")
        for (former, here) in [
            (names, "static_configs: [{targets: [\(list)]}]"), ("interval: 10s", "interval: 1s"),
            ("/run/secrets/admin_token", folder + "/token"),
            ("- alerts.yaml", "- \(Repository.root)/deploy/prometheus/alerts.yaml"),
        ] {
            try #require(text.contains(former), "\(former)")
            text = text.replacingOccurrences(of: former, with: here)
        }
        return text
    }

    private static func get(_ server: ServerAddress, _ path: String) async throws -> JSONValue {
        let answer = try JSONParser.parse(try await HTTPCall.send(.GET, server, path: "/api/v1/" + path).body)
        try #require(answer["status"] == "success", "\(path): \(answer)")
        return answer["data"] ?? .null
    }

    private func check(_ server: ServerAddress, _ targets: [String], _ node: ServerAddress) async throws {
        let dashboard = try JSONParser.parse(Array(try Repository.text("deploy/grafana/freshet.json").utf8))
        let queries = dashboard.rows("panels").flatMap { $0.rows("targets") }.compactMap { $0["expr"]?.stringValue }
        #expect(queries.count > 30)
        let subscriber = try await Subscriber.connect(node)
        subscriber.subscribe("ListLots", ["category": "Books"])
        let id = try #require(try await subscriber.data()["lots"]?[0]?["id"]?.stringValue)
        // Rates need two scrapes, with something that happened between them.
        var number = 0
        var missing = queries
        try await waitFor("series of \(missing)") {
            number += 1
            let edit: JSONObject = ["id": .string(id), "category": "Books", "description": .string("number \(number)")]
            #expect(try await API.mutate(node, "EditLot", edit).status == 200)
            _ = try await subscriber.data()
            var still: [String] = []
            for query in missing {
                let asked = query.replacingOccurrences(of: "$__rate_interval", with: "10s")
                    .replacingOccurrences(of: "$instance", with: ".*")
                let encoded = asked.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
                let series = try await Self.get(server, "query?query=\(encoded)").rows("result")
                if !series.contains(where: { $0["value"]?[1]?.stringValue != "NaN" }) { still.append(query) }
            }
            missing = still
            return missing.isEmpty ? true : nil
        }

        let active = try await Self.get(server, "targets?state=active").rows("activeTargets")
        #expect(Set(active.compactMap { $0["labels"]?["instance"]?.stringValue }) == Set(targets))
        #expect(active.allSatisfy { $0["health"] == "up" }, "\(active)")
        let rules = try await Self.get(server, "rules?type=alert").rows("groups").flatMap { $0.rows("rules") }
        let alerts = try Repository.text("deploy/prometheus/alerts.yaml")
        let written = alerts.components(separatedBy: "- alert: ").count - 1
        #expect(rules.count == written && written > 10)
        for rule in rules {
            #expect(rule["health"] == "ok" && rule["state"] != "firing", "\(rule)")
        }
        subscriber.socket.close()
    }
}
