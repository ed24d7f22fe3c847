import Foundation
import JSON
import ProtocolClients
import TestSupport
import Testing

/// permessage-deflate and gzip with the clients that offer them.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct CompressionClientTests {
    @Test func clientsOfEveryProtocolShareOneCompression() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api,worker,gateway,admin", settings: ["http.eventLoops=1"])
            let admin = try #require(node.admin)
            try await PythonClients.run(
                "compression_client.py",
                ["http://\(node.address.host):\(node.address.port)", "http://\(admin.host):\(admin.port)"])
        }
    }

    /// curl decompresses what it receives and fails if anything is left over or missing.
    @Test func curlReadsResultsAndStreams() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api,worker,gateway")
            let url =
                "http://\(node.address.host):\(node.address.port)/v1/connectors/auctions/queries/ListLots"
                + "?variables=%7B%22category%22%3A%22Ceramics%22%7D"
            func curl(_ arguments: [String]) throws -> FreshetProcess {
                try FreshetProcess(["-sSN", "--compressed"] + arguments + [url], executable: "/usr/bin/curl")
            }
            let once = try curl(["-D", "-"])
            #expect(await once.waitForExit() == 0)
            #expect(once.output.lowercased().contains("content-encoding: gzip"))
            #expect(once.output.contains(#"{"data":{"lots":["#))
            let events = try curl(["-H", "accept: text/event-stream"])
            let first = try await events.line(containing: "data: ")
            let lots = try JSONParser.parse(Array(first.dropFirst("data: ".count).utf8))["data"]?["lots"]
            let lot = try #require(lots?[0]?["id"]?.stringValue)
            let answer = try await API.mutate(
                node.address, "EditLot", ["id": .string(lot), "category": "Ceramics", "description": "changed"])
            #expect(answer.status == 200)
            _ = try await events.line(containing: #""changed""#)
            events.signal(SIGTERM)
            _ = await events.waitForExit()
        }
    }
}
