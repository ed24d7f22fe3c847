import Foundation
import JSON
import ProtocolClients
import TestSupport
import Testing

/// Results as JSON Patches, applied by a client that is not ours.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct DeltaTests {
    @Test func patchedResultsEqualTheFullResult() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api,worker,gateway")
            let url = "http://\(node.address.host):\(node.address.port)"
            try await PythonClients.run("delta_client.py", [url])
        }
    }

    /// The command of docs/clients/deltas.md, as it stands there.
    @Test func theCommandOfTheDocsShowsPatches() async throws {
        let page = try Repository.text("docs/clients/deltas.md").split(
            separator: "\n", omittingEmptySubsequences: false)
        let command = page.drop { !$0.hasPrefix("    curl ") }.prefix { $0.hasPrefix("    ") }.joined(separator: "\n")
        try #require(command.contains("http://127.0.0.1:9399/"))
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api,worker,gateway")
            let text = command.replacingOccurrences(
                of: "127.0.0.1:9399", with: "\(node.address.host):\(node.address.port)")
            let shell = try FreshetProcess(["-c", "exec" + text], executable: "/bin/sh")
            let first = try await shell.line(containing: "data: ")
            let lots = try JSONParser.parse(Array(first.dropFirst("data: ".count).utf8))["data"]?["lots"]
            let lot = try #require(lots?[0]?["id"]?.stringValue)
            let answer = try await API.mutate(
                node.address, "EditLot", ["id": .string(lot), "category": "Changed", "description": "changed"])
            #expect(answer.status == 200)
            // Its timer runs every 10 s.
            _ = try await shell.line(containing: "event: patch")
            shell.signal(SIGTERM)
            _ = await shell.waitForExit()
        }
    }
}
