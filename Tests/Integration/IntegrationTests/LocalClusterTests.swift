import Foundation
import JSON
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// `freshet cluster`: what deploy/compose runs, as processes of one machine, behind a real HAProxy.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct LocalClusterTests {
    private func withFolder<T>(_ body: (String) async throws -> T) async throws -> T {
        let temporary = try TemporaryFolder()
        defer { temporary.remove() }
        let folder = temporary.path + "/data"
        return try await body(folder)
    }

    private func start(_ folder: String, further: [String] = [], counts: [String] = []) throws
        -> FreshetProcess
    {
        var arguments = ["cluster", SampleProject.path] + counts
        let quick = [
            "http.port=0", "admin.port=0", "dev.dataDirectory=\(folder)", "cluster.leaseTtlMs=1500",
            "cluster.leaseRenewMs=300", "cluster.nodeTtlMs=1500", "cluster.heartbeatMs=300", "cluster.shardCount=16",
        ]
        for setting in quick + further { arguments += ["--set", setting] }
        return try FreshetProcess(arguments)
    }

    /// Processes whose command line names the folder, or that work in it: servers, nodes and the proxy.
    private func processes(of folder: String) throws -> [(id: Int32, line: String)] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { Int32($0) }.compactMap { id in
            guard let line = FileManager.default.contents(atPath: "/proc/\(id)/cmdline") else { return nil }
            let text = String(decoding: line, as: UTF8.self).replacing("\0", with: " ")
            // Redis writes a command line of its own.
            let place = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(id)/cwd")
            return text.contains(folder) || place?.contains(folder) == true ? (id, text) : nil
        }
    }

    @Test func servesThroughTheProxyAndLeavesNothingBehind() async throws {
        try await withFolder { folder in
            let refused = try start(folder, counts: ["--connections-max", "100000000"])
            #expect(await refused.waitForExit() == 1)
            #expect(refused.output.contains("--connections-max 100000000 is more than HAProxy can take"))
            let cluster = try start(folder, counts: ["--connections-max", "321"])
            let line = try await cluster.line(containing: "Freshet cluster serves")
            let proxy = try ServerAddress(String(line.split(separator: " ").last ?? ""))
            _ = try await cluster.line(containing: "Ctrl-C stops everything")

            // Parent, Postgres, Redis, seven nodes, HAProxy at least.
            let all = try processes(of: folder)
            for part in ["postgres", "redis", "api-1", "api-2", "worker-3", "gateway-2", "haproxy.cfg"] {
                #expect(all.contains { $0.line.contains(part) }, "\(part) in \(all)")
            }
            let proxyText = try String(contentsOfFile: folder + "/cluster/haproxy.cfg", encoding: .utf8)
            #expect(proxyText.contains("maxconn 321"))
            let page = try await HTTPCall.send(.GET, proxy, path: "/")
            #expect(String(decoding: page.body, as: UTF8.self).contains("Freshet cluster"))

            let list = try JSONParser.parse(try await API.get(proxy, "ListLots", ["category": "Hi-Fi"]).body)
            let id = try #require(list["data"]?["lots"]?[0]?["id"]?.stringValue)
            func update(_ description: String) async throws {
                let answer = try await API.mutate(
                    proxy, "EditLot",
                    ["id": .string(id), "category": "Hi-Fi", "description": .string(description)])
                #expect(answer.status == 200, "\(answer.body)")
            }
            func isShown(_ description: String) -> @Sendable (JSONValue) -> Bool {
                { data in data["lot"]?["description"]?.stringValue == description }
            }
            // WebSocket and long-poll reach gateways, the mutation an API node.
            let subscriber = try await Subscriber.connect(proxy)
            subscriber.subscribe("GetLot", ["id": .string(id)])
            _ = try await subscriber.data()
            let before = try await API.get(proxy, "GetLot", ["id": .string(id)])
            let tag = try #require(before.headers.first(name: "etag"))
            async let poll = API.get(
                proxy, "GetLot", ["id": .string(id)], headers: ["prefer": "wait=60", "if-none-match": tag])
            try await update("through the proxy")
            _ = try await subscriber.data(where: isShown("through the proxy"))
            let polled = try JSONParser.parse(try await poll.body)
            #expect(polled["data"]?["lot"]?["description"]?.stringValue == "through the proxy")
            // A mutation over the WebSocket of a gateway.
            subscriber.send([
                "id": "write", "type": "subscribe",
                "payload": [
                    "query": "", "operationName": "EditLot",
                    "variables": ["id": .string(id), "category": "Hi-Fi", "description": "over the socket"],
                ],
            ])
            _ = try await subscriber.data(where: isShown("over the socket"))

            // Every way to wait for changes, and graphql-sse's single connection, with two gateways behind the proxy.
            let address = "\(proxy.host):\(proxy.port)"
            var admins: [String] = []
            for name in ["gateway-1", "gateway-2"] {
                let words = try await cluster.line(containing: "  \(name) ").split(separator: " ")
                let admin = try #require(words.firstIndex(of: "admin"))
                admins.append("http://\(words[admin + 1])")
            }
            try await PythonClients.run(
                "proxy_client.py", ["http://\(address)", address, admins.joined(separator: ","), "single"])

            // One API node and one worker are killed: others take over, and both are started again.
            for name in ["api-1.yaml", "worker-1.yaml"] {
                let victim = try #require(
                    try processes(of: folder).first { $0.line.contains("serve") && $0.line.contains(name) })
                kill(victim.id, SIGKILL)
            }
            try await update("after a crash")
            _ = try await subscriber.data(where: isShown("after a crash"))
            #expect(try await cluster.line(containing: "worker-1 ended (signal 9)").contains("started again"))

            // So are the servers behind them, with their data.
            for name in ["postgres -D", "redis-server"] {
                let victim = try #require(
                    try processes(of: folder).first { $0.line.contains(name) && !$0.line.contains("setpriv") })
                kill(victim.id, SIGKILL)
            }
            for name in ["Postgres", "Redis"] {
                #expect(try await cluster.line(containing: "\(name) ended").contains("started again in 200 ms"))
                _ = try await cluster.line(containing: "\(name) is back")
            }
            let kept = try JSONParser.parse(try await API.get(proxy, "GetLot", ["id": .string(id)]).body)
            #expect(kept["data"]?["lot"]?["description"]?.stringValue == "after a crash")
            try await update("after all crashes")
            _ = try await subscriber.data(where: isShown("after all crashes"))

            cluster.signal(SIGINT)
            #expect(await cluster.waitForExit() == 0)
            #expect(try processes(of: folder).map(\.line) == [])
        }
    }

    /// Behind the proxy a limit of each address counts clients, and no client can pass for another one.
    @Test func limitsPerAddressCountClientsBehindTheProxy() async throws {
        try await withFolder { folder in
            let cluster = try start(
                folder, further: ["gateway.sessionsPerAddressMax=2", "http.uncountedAddresses="],
                counts: ["--gateways", "1", "--workers", "1"])
            let line = try await cluster.line(containing: "Freshet cluster serves")
            let proxy = try ServerAddress(String(line.split(separator: " ").last ?? ""))
            try await PythonClients.run("address_client.py", ["\(proxy.host):\(proxy.port)"])
            cluster.signal(SIGINT)
            #expect(await cluster.waitForExit() == 0)
        }
    }

    @Test func mistakesGetOneClearLine() async throws {
        try await withFolder { folder in
            let listener = BusyPort.listener()
            defer { close(listener.descriptor) }
            let busy = try start(folder, further: ["http.port=\(listener.port)"])
            #expect(await busy.waitForExit() == 1)
            #expect(
                busy.output.contains("error: port \(listener.port) on 127.0.0.1 is in use; stop the other program"))
            // A node that cannot start ends the whole, with its own words. The address is for documentation (RFC 5737).
            let refused = try start(folder, further: ["http.host=192.0.2.1"])
            #expect(await refused.waitForExit() == 1)
            #expect(refused.output.contains("error: haproxy was not ready"))
            #expect(refused.output.contains("cannot bind socket"))
            #expect(try processes(of: folder).map(\.line) == [])
        }
    }
}
