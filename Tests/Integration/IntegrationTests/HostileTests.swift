import JSON
import ProtocolClients
import TestSupport
import Testing

/// Attacks on a node (Python/hostile) while a well-behaved subscriber follows a query: every change arrives, the node
/// lives and does not keep the memory. `make hostile` measures the same attacks.
@Suite(.serialized, .timeLimit(.minutes(6)))
struct HostileTests: SampleProjectTests {
    private static let operations = """

        query HostileSleep($seconds: Float!) @auth(level: PUBLIC, insecureReason: "for attacks") {
          _select(sql: "SELECT pg_sleep($1)::text AS slept", params: [$seconds])
        }
        query HostileBig($length: Int!) @auth(level: PUBLIC, insecureReason: "for attacks") {
          _select(sql: "SELECT repeat('x', $1) AS text", params: [$length])
        }
        """

    /// Live queries linger when a connection is cut; an address that follows ever new ones must not fill the gateway.
    @Test func cutConnectionsLeaveOnlySoManyLiveQueriesBehind() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway,admin",
                settings: ["http.uncountedAddresses=127.0.0.1", "gateway.lingerMs=600000"])
            try await PythonClients.run("cut_client.py", ["\(node.address.host):\(node.address.port)"])
            let admin = try await AdminClient(node.process)
            var count: Int64?
            // gateway.lingeringPerAddressMax; the connections may not be over yet.
            let isBounded = try await eventually {
                count = try await admin.get("status")["gateway"]?["liveQueries"]?.intValue
                return count == 20
            }
            #expect(isBounded, "\(String(describing: count))")
        }
    }

    @Test(arguments: [
        "slow_query_1,slow_query_20,slow_subscriptions,churn",
        "ping_flood,http2_ping_flood,http2_settings_flood,reset_flood",
        "large_bodies,many_bodies,slowloris,junk", "idle_connections,many_sessions,oversize_results",
    ])
    func aWellBehavedSubscriberIsServed(_ attacks: String) async throws {
        try await withProject { project, _ in
            try append(Self.operations, to: project + "/connector/queries.gql")
            try await Cluster.with(project: project) { cluster in
                let node = try await cluster.start(
                    roles: "api,worker,gateway",
                    settings: ["http.uncountedAddresses=127.0.0.1", "gateway.sessionsPerAddressMax=300"])
                try await PythonClients.run(
                    "hostile/hostile_client.py",
                    [
                        "http://\(node.address.host):\(node.address.port)", "\(node.process.processID)", "2", attacks,
                        // A debug build is too slow to hold every flood to the median, as `make hostile` does.
                        "churn",
                    ])
            }
        }
    }
}
