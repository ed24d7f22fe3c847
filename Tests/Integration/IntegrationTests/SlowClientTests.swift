import ProtocolClients
import Testing

/// Clients that stop reading, of every protocol, over real sockets beside one that reads on.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct SlowClientTests {
    /// All sessions of a protocol share one encoding; only ids differ.
    @Test func aResultIsEncodedOnceForEachProtocol() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api,worker,gateway,admin")
            let admin = try #require(node.admin)
            try await PythonClients.run(
                "encoding_client.py",
                ["http://\(node.address.host):\(node.address.port)", "http://\(admin.host):\(admin.port)"])
        }
    }

    /// - Parameter settings: of the node.
    private func run(_ mode: String, _ settings: [String]) async throws {
        try await Cluster.with { cluster in
            // The results' padding must fill sockets.
            let node = try await cluster.start(
                roles: "api,worker,gateway", settings: ["http.compression.on=false"] + settings)
            let url = "http://\(node.address.host):\(node.address.port)"
            try await PythonClients.run("slow_client.py", [mode, url])
        }
    }

    @Test func theNewestResultWinsAndTheOthersAreNotDisturbed() async throws {
        try await run("newest", [])
    }

    /// A result has 300 KB: one that waits is more than the session may hold.
    @Test func pastTheByteCapTheSessionEndsInItsOwnWay() async throws {
        try await run("closed", ["gateway.sessionBytesMax=200KiB"])
    }

    /// Only the call that is not read is cut off on a gRPC connection.
    @Test func aClientThatReadsNothingIsCutOffInTime() async throws {
        try await run("stalled", ["http.writeStallTimeoutMs=3s"])
    }
}
