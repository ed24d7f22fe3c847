import FreshetClient
import Testing

/// PyPI's `gql` and plain HTTP clients against one node: protocols as their users speak them.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct PythonClientTests {
    @Test func gqlSpeaksEveryProtocolItKnows() async throws {
        try await withNode { url, token in
            for name in ["graphql-transport-ws", "graphql-ws", "multipart", "appsync"] {
                let output = try await PythonClients.run("gql_client.py", [name, url, token])
                for step in ["news", "errors", "token", "passed"] {
                    #expect(output.contains(step), "\(name): \(step) is missing in \(output)")
                }
            }
            #expect(try await PythonClients.run("gql_client.py", ["http", url, token]).contains("passed"))
        }
    }

    @Test func streamsAreByteForByteWhatClientsRead() async throws {
        try await withNode { url, token in
            for name in ["multipart", "sse", "single", "http"] {
                let output = try await PythonClients.run(
                    "http_client.py", [name, url, token, Paths.movies + "/connector/queries.gql"])
                #expect(output.contains("passed"), "\(name): \(output)")
            }
        }
    }

    private func withNode(_ body: @Sendable (_ url: String, _ token: String) async throws -> Void) async throws {
        let secret = "0123456789abcdef0123456789abcdef"
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway",
                settings: ["auth.mode=hs256", "auth.hs256Secret=\(secret)", "gateway.keepAliveMs=500"])
            try await body(
                "http://\(node.address.host):\(node.address.port)", TestTokens.signed(uid: "ann", secret: secret))
        }
    }
}
