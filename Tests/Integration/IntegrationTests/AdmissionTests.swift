import Foundation
import JSON
import NIOHTTP1
import ProtocolClients
import Synchronization
import TestSupport
import Testing

/// Crowds that connect at once, and subscribers that all leave.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct AdmissionTests {
    /// Sixty clients come to a node that takes ten at once and ten a second: all are in after a while with the last
    /// state, and who was there before sees every change meanwhile.
    @Test func connectionsAreAdmittedAtTheConfiguredRate() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway,admin",
                settings: ["gateway.acceptPerSecond=10", "gateway.acceptBurst=10"])
            let admin = try await AdminClient(node.process)
            let id = try #require(try await SplitTests.lots(node.address, count: 1).first)
            let resident = try await Subscriber.connect(node.address)
            resident.subscribe("GetLot", ["id": .string(id)])
            _ = try await resident.data()

            let followers = Followers()
            let following = Task {
                await withTaskGroup { group in
                    for index in 0..<60 {
                        group.addTask {
                            let one = LiveSubscription(
                                address: node.address, operation: "GetLot", variables: ["id": .string(id)])
                            try? await one.run { followers.heard($0, by: index) }
                        }
                    }
                }
            }
            var number = 0
            while followers.reached.count < 60 {
                number += 1
                try await SplitTests.write(node.address, id, number)
                _ = try await resident.data { SplitTests.number($0) == number }
                // Ten changes in the time in which the node takes ten clients.
                try await Task.sleep(for: .milliseconds(100))
            }
            try await SplitTests.write(node.address, id, 1_000_000)
            _ = try await resident.data { SplitTests.number($0) == 1_000_000 }
            try await followers.wait { $0.values.filter { $0 == 1_000_000 }.count == 60 }
            following.cancel()
            await following.value

            // The first ten, less the resident, were admitted at once. Each refusal said when to come back.
            let refusals = followers.refusals
            #expect(refusals.count >= 40)
            #expect(refusals.allSatisfy { $0 >= 1_000 && $0 < 62_000 }, "\(refusals)")
            #expect(Set(refusals.map { $0 / 1_000 }).count >= 3, "spread: \(refusals)")
            // The node counts the same ones.
            let status = try await admin.get("status")
            #expect(status["sessionsRefused"]?.intValue == Int64(refusals.count))
            let metrics = try await metrics(admin)
            #expect(metrics.contains("freshet_sessions_refused_total{reason=\"rate\"} \(refusals.count)\n"))
        }
    }

    @Test func everyProtocolSaysItInItsOwnForm() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway", settings: ["gateway.acceptPerSecond=1", "gateway.acceptBurst=1"])
            let url = "http://\(node.address.host):\(node.address.port)"
            try await PythonClients.run("admission_client.py", ["refused", url])
        }
    }

    @Test func addressesHaveRatesOfTheirOwnThatReconnectingDoesNotRenew() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway,admin",
                settings: [
                    "http.uncountedAddresses=127.0.0.1", "gateway.acceptPerAddressPerSecond=1",
                    "gateway.acceptPerAddressBurst=3", "gateway.messagesPerAddressPerSecond=50",
                    "gateway.messagesPerAddressBurst=100",
                ])
            try await PythonClients.run("rate_client.py", ["\(node.address.host):\(node.address.port)"])
            let metrics = try await metrics(try await AdminClient(node.process))
            #expect(metrics.contains("freshet_sessions_refused_total{reason=\"address\"} 3\n"))
        }
    }

    private static let secret = "0123456789abcdef0123456789abcdef"

    /// Every protocol, ended well, broken off, gone silent without an end, and out of its token's time.
    @Test func allCountersAreZeroAfterAllSubscribersLeft() async throws {
        try await Cluster.with { cluster in
            let worker = try await cluster.start(roles: "worker,admin")
            let gateway = try await cluster.start(
                roles: "api,gateway,admin",
                settings: [
                    "auth.mode=hs256", "auth.hs256Secret=\(Self.secret)", "auth.leewayMs=0", "gateway.lingerMs=300",
                    "gateway.pingIntervalMs=1000", "gateway.pongTimeoutMs=1000", "gateway.summaryMs=500",
                ])
            let admin = try await AdminClient(gateway.process)
            let owner = try await AdminClient(worker.process)
            let url = "http://\(gateway.address.host):\(gateway.address.port)"
            let id = try #require(try await SplitTests.lots(gateway.address, count: 1).first)

            let everyone = try await PythonClients.start("admission_client.py", ["everyone", url])
            let live = try await everyone.line(containing: "live")
            let count = try #require(live.split(separator: " ").last.flatMap { Int64($0) })
            var followers: [FreshetProcess] = []
            for _ in 0..<2 {
                let follower = try FreshetProcess([
                    "subscribe", "GetLot", "--vars", "{\"id\":\"\(id)\"}", "--url", url,
                ])
                _ = try await follower.line(containing: "\"lot\"")
                followers.append(follower)
            }
            // All are there, and the worker knows of them.
            try await admin.wait("status") { $0["sessions"]?.intValue == count + 2 }
            let status = try await admin.get("status")
            #expect((status["gateway"]?["subscriptions"]?.intValue ?? 0) >= count + 2, "\(status)")
            let soon = TestTokens.signed(
                uid: "ann", secret: Self.secret, expiresAt: Int64(Date().timeIntervalSince1970) + 5)
            let expiring = try await Subscriber.connect(
                gateway.address, payload: ["Authorization": .string("Bearer \(soon)")])
            expiring.subscribe("MyAccount", [:])
            _ = try await expiring.data()
            try await owner.wait("live-queries?limit=100") { $0.rows("liveQueries").count == 3 }

            #expect(await expiring.closeCode() == 4403)
            followers[0].signal(SIGSTOP)
            await followers[1].crash()
            everyone.signal(SIGTERM)
            _ = await everyone.waitForExit()

            try await admin.wait("status") { status in
                let gateway = status["gateway"]
                return status["sessions"]?.intValue == 0 && gateway?["subscriptions"]?.intValue == 0
                    && gateway?["liveQueries"]?.intValue == 0
            }
            try await owner.wait("live-queries?limit=100") { $0.rows("liveQueries").isEmpty }
            try await owner.wait("shards") { answer in
                answer.rows("shards").allSatisfy {
                    ($0["liveQueries"]?.intValue ?? 0) == 0 && ($0["subscribers"]?.intValue ?? 0) == 0
                }
            }
            let idle = try await owner.get("status")["worker"]
            #expect(idle?["runsInFlight"]?.intValue == 0 && idle?["due"]?.intValue == 0)
            try await zero(
                admin,
                [
                    "freshet_sessions", "freshet_gateway_live_queries", "freshet_gateway_subscriptions",
                    "freshet_gateway_awaiting_live_queries", "freshet_gateway_result_bytes",
                ])
            try await zero(
                owner,
                ["freshet_worker_live_queries", "freshet_worker_due_live_queries", "freshet_worker_paced_live_queries"])
            await followers[0].crash()
        }
    }

    /// Waits until these gauges are zero; they are set now and then.
    private func zero(_ admin: AdminClient, _ names: [String]) async throws {
        try await waitUntil("zero: \(names)") {
            let lines = Set(try await metrics(admin).split(separator: "\n").map(String.init))
            return names.allSatisfy { lines.contains("\($0) 0") }
        }
    }

    private func metrics(_ admin: AdminClient) async throws -> String {
        String(decoding: try await HTTPCall.send(.GET, admin.address, path: "/metrics").body, as: UTF8.self)
    }
}

/// The observations of many followers of one lot.
private final class Followers: Sendable {
    private struct State {
        /// The last number seen by each.
        var shown: [Int: Int] = [:]
        var reached: Set<Int> = []
        var refusals: [Int64] = []
    }

    private let state = Mutex(State())

    func heard(_ event: LiveSubscription.Event, by index: Int) {
        state.withLock { state in
            switch event {
            case .next(let payload):
                state.reached.insert(index)
                let data = (try? JSONParser.parse(payload))?["data"]
                if let number = data.flatMap({ SplitTests.number($0) }) { state.shown[index] = number }
            case .reconnecting(let afterMs, let reason):
                state.refusals.append(afterMs)
                // No admitted client loses its connection.
                if state.reached.contains(index) || !reason.contains("503") { state.refusals.append(-1) }
            }
        }
    }

    var reached: Set<Int> { state.withLock { $0.reached } }
    var refusals: [Int64] { state.withLock { $0.refusals } }

    func wait(where fits: ([Int: Int]) -> Bool) async throws {
        try await waitUntil("what is shown to fit") { fits(state.withLock { $0.shown }) }
    }
}
