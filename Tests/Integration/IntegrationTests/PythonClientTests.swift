import Foundation
import ProtocolClients
import TestSupport
import Testing

/// PyPI's `gql`, and clients that look at every byte, against one node: protocols as their users speak them.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct PythonClientTests {
    private static let secret = "0123456789abcdef0123456789abcdef"

    @Test func gqlSpeaksEveryProtocolItKnows() async throws {
        // Heartbeats as rare as by default: they must not be what makes a client see a result.
        try await withNode(["gateway.keepAliveMs=15000"]) { _, url, token in
            for name in ["graphql-transport-ws", "graphql-ws", "multipart", "appsync"] {
                let output = try await PythonClients.run("gql_client.py", [name, url, token])
                for step in ["news", "errors", "token"] {
                    #expect(output.contains(step), "\(name): \(step) is missing in \(output)")
                }
            }
            try await PythonClients.run("gql_client.py", ["http", url, token])
        }
    }

    @Test func everySampleOfTheDocumentationOfGQLWorks() async throws {
        try await withNode(["gateway.keepAliveMs=15000"]) { _, url, token in
            let page = Repository.path("docs/clients/gql.md")
            try await PythonClients.run("gql_client.py", ["docs", url, token, page])
        }
    }

    @Test func anotherClientOfTheOlderSubprotocol() async throws {
        try await withNode { _, url, token in
            try await PythonClients.run("py_graphql_client.py", [url, token])
        }
    }

    @Test func aHalfClosedConnectionGetsTheAnswerAtOnce() async throws {
        try await withNode { _, url, _ in
            try await PythonClients.run("half_close_client.py", [url])
        }
    }

    @Test func streamsAreByteForByteWhatClientsRead() async throws {
        try await withNode { _, url, token in
            for name in ["multipart", "sse", "single", "http"] {
                let arguments = [name, url, token, SampleProject.path + "/connector/queries.gql"]
                try await PythonClients.run("http_client.py", arguments)
            }
        }
    }

    @Test func everySessionKeepsItsLimitsAndEndsInItsOwnWay() async throws {
        try await withNode(["gateway.subscriptionsPerSessionMax=3", "gateway.initTimeoutMs=1500"]) { node, url, token in
            for name in ["limits", "hostile", "timeout", "appsync"] {
                try await PythonClients.run("session_client.py", [name, url, token])
            }
            let soon = TestTokens.signed(
                uid: "ann", secret: Self.secret, expiresAt: Int64(Date().timeIntervalSince1970) + 8)
            try await PythonClients.run("session_client.py", ["expiry", url, soon])
            let client = try await PythonClients.start("session_client.py", ["leaving", url, token])
            _ = try await client.line(containing: "live")
            node.signal(SIGTERM)
            try await PythonClients.output(of: client, "leaving")
            #expect(await node.waitForExit() == 0)
        }
    }

    private func withNode(
        _ settings: [String] = [],
        _ body: @Sendable (_ node: FreshetProcess, _ url: String, _ token: String) async throws -> Void
    ) async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway",
                settings: [
                    "auth.mode=hs256", "auth.hs256Secret=\(Self.secret)", "auth.leewayMs=0", "gateway.keepAliveMs=500",
                ] + settings)
            try await body(
                node.process, "http://\(node.address.host):\(node.address.port)",
                TestTokens.signed(uid: "ann", secret: Self.secret))
        }
    }
}
