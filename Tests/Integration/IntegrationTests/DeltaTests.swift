import FreshetClient
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
}
