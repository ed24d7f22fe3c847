import HTTPServer
import JSON
import LiveModel
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import OutboundHTTP
import Synchronization
import TestSupport
import Testing

@testable import Admin

/// Reports gathered from other nodes: what is merged, and that a node without an answer is named.
@Suite struct PeerReportsTests {
    /// An admin port with one answer.
    private final class Peer: HTTPHandler {
        enum Behaviour: Sendable {
            case answers(JSONValue)
            case isSilent
            case refuses
        }

        let behaviour: Behaviour
        let seen = Mutex<[HTTPRequest]>([])

        init(_ behaviour: Behaviour) { self.behaviour = behaviour }

        func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
            seen.withLock { $0.append(request) }
            switch behaviour {
            case .answers(let value):
                exchange.respond(.ok, headers: ["content-type": "application/json"], body: value.compactBytes)
            case .refuses:
                exchange.respond(
                    .unauthorized, headers: [:],
                    body: Array(#"{"errors":[{"message":"no","extensions":{"code":"UNAUTHENTICATED"}}]}"#.utf8))
            case .isSilent: break
            }
        }

        func webSocket(_ request: HTTPRequest) -> WebSocketDecision { .reject(.notFound, body: ByteBuffer()) }
    }

    private static func record(_ name: String, _ address: String, _ roles: Set<Role> = [.worker]) -> NodeRecordPayload {
        NodeRecordPayload(
            id: NodeID(name), roles: roles, address: "", adminAddress: address, version: "", startedAtMs: 0,
            isDraining: false, load: 0)
    }

    /// Runs peers and gathers from them and from one own part.
    private static func gather(
        _ peers: [(name: String, Peer)], further: [NodeRecordPayload] = [], only: String? = nil,
        roles: Set<Role> = [], settings: PeerReports.Settings = .init()
    ) async throws -> GatheredParts {
        var servers: [HTTPServer] = []
        var nodes = further
        for (name, peer) in peers {
            var configuration = HTTPServerConfiguration()
            configuration.host = "127.0.0.1"
            configuration.port = 0
            let server = HTTPServer(
                configuration: configuration, handler: peer, logger: Logger(label: "test"), group: .singleton)
            nodes.append(record(name, "127.0.0.1:\(try await server.start())"))
            servers.append(server)
        }
        let sender = HTTPSender(group: .singleton, connectionsPerHostMax: 4)
        let listed = nodes
        let reports = PeerReports(
            own: NodeID("own"), nodes: { listed }, sender: sender, token: "secret", settings: settings)
        let gathered: Result<GatheredParts, any Error>
        do {
            gathered = .success(
                try await reports.gather(
                    "/admin/v1/rules", query: [("operation", "a/B ü"), ("node", "x")], only: only.map { NodeID($0) },
                    roles: roles
                ) { ["node": "own", "count": 1] })
        } catch {
            gathered = .failure(error)
        }
        await sender.stop()
        for server in servers { await server.shutdown(graceMs: 0) }
        return try gathered.get()
    }

    @Test func partsComeFromEveryNodeWithTokenAndQuery() async throws {
        let peer = Peer(.answers(["node": "b", "count": 2]))
        let gathered = try await Self.gather([("b", peer)])
        #expect(gathered.parts.map(\.node.name).sorted() == ["b", "own"])
        #expect(gathered.unreachable.isEmpty)
        let request = try #require(peer.seen.withLock { $0.first })
        #expect(request.header("authorization") == "Bearer secret" && request.header(PeerReports.header) == "own")
        #expect(request.query("operation") == "a/B ü" && request.query("node") == nil)
    }

    @Test func allPartsTogetherHaveABound() async throws {
        var settings = PeerReports.Settings()
        settings.answerBytesMax = 1_000
        let text = JSONValue.string(String(repeating: "x", count: 900))
        let peers = ["a", "b", "c", "d", "e", "f"].map { ($0, Peer(.answers(["node": .string($0), "text": text]))) }
        let gathered = try await Self.gather(peers, settings: settings)
        #expect(gathered.parts.count == 5 && gathered.parts.contains { $0.node.name == "own" })
        let reason = "the report is larger than 4000 bytes"
        #expect(gathered.unreachable.map(\.reason) == [reason, reason])
    }

    @Test func deadSlowAndTalkativeNodesAreNamed() async throws {
        var settings = PeerReports.Settings()
        settings.timeoutMs = 200
        settings.answerBytesMax = 1_000
        let large = JSONValue.string(String(repeating: "x", count: 2_000))
        let gathered = try await Self.gather(
            [
                ("b", Peer(.answers(["node": "b"]))), ("slow", Peer(.isSilent)),
                ("large", Peer(.answers(["node": "large", "rows": large]))), ("wrong", Peer(.refuses)),
                ("other", Peer(.answers(["node": "someone"]))),
            ],
            further: [Self.record("dead", "127.0.0.1:1"), Self.record("silent", "")], settings: settings)
        #expect(gathered.parts.map(\.node.name).sorted() == ["b", "own"])
        let reasons = Dictionary(uniqueKeysWithValues: gathered.unreachable.map { ($0.node.name, $0.reason) })
        #expect(reasons.keys.sorted() == ["dead", "large", "other", "silent", "slow", "wrong"])
        #expect(reasons["dead"]?.contains("cannot be reached") == true, "\(reasons)")
        #expect(reasons["slow"] == "it did not answer within 200 ms")
        #expect(reasons["large"] == "its answer is larger than 1000 bytes")
        #expect(reasons["wrong"] == "it answered status 401: no")
        #expect(reasons["other"]?.hasSuffix("leads to another node from here") == true)
        #expect(reasons["silent"] == "it does not have the role admin")
    }

    @Test func oneNodeAloneIsAsked() async throws {
        let (b, c) = (Peer(.answers(["node": "b"])), Peer(.answers(["node": "c"])))
        let gathered = try await Self.gather([("b", b), ("c", c)], only: "c")
        #expect(gathered.parts.map(\.node.name) == ["c"])
        #expect(b.seen.withLock { $0.isEmpty })
        await #expect(throws: RequestError.self) { try await Self.gather([("b", b)], only: "z") }
        #expect(try await Self.gather([("b", b)], only: "own").parts.map(\.node.name) == ["own"])
    }

    @Test func nodesWithoutTheRoleAndBeyondTheLimitAreNotAsked() throws {
        let nodes = [
            Self.record("w1", "a:1"), Self.record("w2", "a:2"), Self.record("g", "a:3", [.gateway]),
            Self.record("own", "a:4"),
        ]
        let plan = try PeerPlan(own: NodeID("own"), nodes: nodes, only: nil, roles: [.worker], peersMax: 1)
        #expect(plan.peers == [.init(node: NodeID("w1"), address: "a:1")] && plan.includesOwn)
        #expect(plan.unreachable.map(\.node.name) == ["w2"])
    }

    // MARK: Merging

    private static func part(_ node: String, _ json: JSONValue) -> ReportPart {
        ReportPart(node: NodeID(node), json: json)
    }

    private static func arguments(_ limit: String) throws -> AdminArguments {
        try AdminArguments([AdminRoutes.limit(1_000)], path: [:], query: [("limit", limit)])
    }

    @Test func sessionsAreTheOldestOfAllNodes() throws {
        let merged = MergedReports.sessions(
            [
                Self.part(
                    "a", ["count": 2, "matching": 2, "sessions": [["id": 1, "sinceMs": 5], ["id": 2, "sinceMs": 1]]]),
                Self.part("b", ["count": 1, "matching": 1, "sessions": [["id": 1, "sinceMs": 3]]]),
            ], try Self.arguments("2"))
        #expect(merged["count"] == 3 && merged["matching"] == 3)
        let rows: JSONValue = [
            ["node": "a", "id": 1, "sinceMs": 5], ["node": "b", "id": 1, "sinceMs": 3],
        ]
        #expect(merged["sessions"] == rows)
    }

    @Test func rulesAreAddedUpAndSortedByWastedRuns() {
        let busy: JSONValue = [
            "operation": "c/A", "ruleUnchanged": 5, "keyUnchanged": 1, "ruleChanged": 1, "rules": ["every 1 ms"],
            "unnoticedMutations": [["mutation": "c/M", "count": 1, "rule": "r"]],
        ]
        let calm: JSONValue = ["operation": "c/B", "ruleUnchanged": 7, "unnoticedMutations": []]
        let merged = MergedReports.rules([
            Self.part("a", ["operations": [calm, busy]]), Self.part("b", ["operations": [busy]]),
        ])
        let rows = merged["operations"]?.arrayValue ?? []
        #expect(rows.map { $0["operation"] } == ["c/A", "c/B"])
        #expect(rows.first?["wasted"] == 12 && rows.first?["ruleChanged"] == 2)
        #expect(rows.first?["unnoticedMutations"] == [["mutation": "c/M", "count": 2, "rule": "r"]])
        #expect(rows.first?["rules"] == ["every 1 ms"])
    }

    @Test func theAnswerNamesWhoWasAskedAndWhoIsMissing() throws {
        let report = GatheredReport(merge: { parts, _ in ["nodes": .int(Int64(parts.count))] }) { _, _ in [:] }
        let gathered = GatheredParts(
            parts: [Self.part("a", [:])], unreachable: [.init(node: NodeID("z"), reason: "why")])
        #expect(
            report.json(gathered, askedOf: NodeID("own"), try Self.arguments("1"))
                == ["nodes": 1, "node": "own", "unreachable": [["node": "z", "reason": "why"]]])
    }
}
