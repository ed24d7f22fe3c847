import Foundation
import JSON
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// Markers through every shard, with real nodes: what operators see of a worker that hangs.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct LagTests {
    /// The worker keeps its shards while it is stopped, so that it is named.
    private static let settings = [
        "lag.markerEveryMs=200", "lag.lateMs=1000", "cluster.leaseTtlMs=60000", "cluster.nodeTtlMs=60000",
    ]

    @Test func aStoppedWorkerIsNamedUntilItContinues() async throws {
        try await Cluster.with { cluster in
            let worker = try await cluster.start(roles: "worker,admin", settings: Self.settings)
            let front = try await cluster.start(roles: "api,gateway,admin", settings: Self.settings)
            let admin = try await AdminClient(front.process)
            let nothingFollowed = try await Self.lag(admin)
            #expect(nothingFollowed["shards"]?.intValue == 0 && nothingFollowed["endToEndMs"] == .null)
            let subscriber = try await Subscriber.connect(front.address)
            subscriber.subscribe("ListLots", ["category": "Clocks"])
            _ = try await subscriber.data()

            // Markers arrive, and each hop has a time.
            let well = try await Self.lag(admin) { $0["worst"]?[0]?["deliveredAgoMs"] != nil }
            let hops = try #require(well["worst"]?[0])
            for hop in ["endToEndMs", "appendMs", "readMs", "runsMs", "deliveryMs"] {
                #expect((hops[hop]?.intValue ?? -1) >= 0, "\(hop) in \(hops)")
            }
            #expect(well["late"]?.intValue == 0 && well["shards"]?.intValue == 1, "\(well)")
            try await admin.wait("v1/overview") { $0["level"]?.stringValue == "ok" }

            // A worker that hangs holds them up.
            worker.process.signal(SIGSTOP)
            let owner = try await Self.node(of: worker.process)
            let overview = try await admin.wait("v1/overview") {
                $0.rows("problems").contains {
                    $0["sentence"]?.stringValue?.hasSuffix("\(owner) is stuck.") ?? false
                }
            }
            #expect(overview["level"]?.stringValue == "critical")
            let first = try await Self.lag(admin)["undeliveredMs"]?.intValue ?? 0
            _ = try await Self.lag(admin) { ($0["undeliveredMs"]?.intValue ?? 0) > first + 500 }
            #expect(try await Self.metric("freshet_lag_oldest_undelivered_seconds", of: admin) > 1)
            let status = try await admin.command(["status"])
            #expect(status.contains("\(owner) is stuck."), "\(status)")

            // One that continues passes on what waited.
            worker.process.signal(SIGCONT)
            _ = try await Self.lag(admin) { $0["late"]?.intValue == 0 }
            try await admin.wait("v1/overview") { $0["level"]?.stringValue == "ok" }
            #expect(try await Self.metric("freshet_lag_markers_committed_total", of: admin) > 2)
            #expect(try await Self.metric("freshet_lag_end_to_end_seconds_count", of: admin) > 2)
            subscriber.socket.close()
        }
    }

    private static func node(of process: FreshetProcess) async throws -> String {
        let parts = try await process.line(containing: "ready http").split(separator: " ")
        return String(try #require(parts.dropFirst(3).first))
    }

    /// Asks for the lag of the gateway until it fits.
    private static func lag(
        _ admin: AdminClient, where fits: @Sendable (JSONValue) -> Bool = { _ in true }
    ) async throws -> JSONValue {
        let status = try await admin.wait("v1/status?node=\(admin.node)") { status in
            status["nodes"]?[0]?["gateway"]?["lag"].map(fits) ?? false
        }
        return try #require(status["nodes"]?[0]?["gateway"]?["lag"])
    }

    private static func metric(_ name: String, of admin: AdminClient) async throws -> Double {
        let text = String(decoding: try await HTTPCall.send(.GET, admin.address, path: "/metrics").body, as: UTF8.self)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name + " ") }, "\(name)")
        return try #require(Double(line.split(separator: " ").last ?? ""))
    }
}
