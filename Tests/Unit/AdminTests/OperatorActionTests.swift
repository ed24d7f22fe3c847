import LiveModel
import NIOHTTP1
import TestSupport
import Testing

@testable import Admin

/// The actions that paths and queries of the admin API stand for.
@Suite struct OperatorActionTests {
    private func parse(_ path: String, _ query: [String: String] = [:]) throws(RequestError) -> NodeOperator.Action? {
        let match: AdminRoutes.Match
        do throws(RequestError) {
            match = try AdminRoutes.find(.POST, path)
        } catch {
            guard error.code == .notFound || error.code == .methodNotAllowed else { throw error }
            return nil
        }
        guard case .action(let action) = match.route.work else { return nil }
        return try action(match.arguments(query.map { ($0.key, $0.value) }))
    }

    private func refusal(_ path: String, _ query: [String: String] = [:]) -> RequestError? {
        failure { () throws(RequestError) in try parse(path, query) }
    }

    @Test func everyPathHasItsAction() throws {
        let operation = OperationReference(connector: "c", operation: "Q")
        #expect(try parse("/admin/operations/c/Q/splits", ["count": "4"]) == .splits(operation, count: 4))
        #expect(
            try parse("/admin/shards/7/move", ["to": "n"]) == .move(ShardID(7), to: NodeID("n"), forMs: nil))
        #expect(
            try parse("/admin/shards/7/move", ["to": "n", "forMs": "1"])
                == .move(ShardID(7), to: NodeID("n"), forMs: 1))
        #expect(try parse("/admin/shards/7/clear-move") == .clearMove(ShardID(7)))
        #expect(try parse("/admin/nodes/n/drain") == .drain(NodeID("n")))
        #expect(try parse("/admin/nodes/n/undrain") == .undrain(NodeID("n")))
        #expect(try parse("/admin/sessions/9/end") == .endSession(9))
        let subject = try #require(RevocationSubject(kind: "uid", value: "ann"))
        #expect(
            try parse("/admin/revocations", ["uid": "ann"]) == .revoke(subject, forMs: nil, sparesLaterTokens: false))
        #expect(
            try parse("/admin/revocations", ["uid": "ann", "forMs": "5", "later": "allowed"])
                == .revoke(subject, forMs: 5, sparesLaterTokens: true))
        #expect(try parse("/admin/revocations/clear", ["uid": "ann"]) == .clearRevocation(subject))
        #expect(try parse("/admin/slot/drop") == .dropSlot)
    }

    @Test(
        arguments: [
            "/admin", "/admin/shards/7", "/admin/nodes/n/stop", "/admin/operations/c/splits", "/admin/slot", "/",
        ])
    func otherPathsHaveNone(_ path: String) throws {
        #expect(try parse(path) == nil)
    }

    @Test(
        arguments: [
            ("/admin/operations/c/Q/splits", [:], "count"),
            ("/admin/operations/c/Q/splits", ["count": "many"], "count"),
            ("/admin/shards/7/move", [:], "to"), ("/admin/shards/7/move", ["to": ""], "to"),
            ("/admin/shards/x/move", ["to": "n"], "shard"), ("/admin/shards/x/clear-move", [:], "shard"),
            ("/admin/shards/7/move", ["to": "n", "forMs": "0"], "forMs"),
            ("/admin/shards/7/move", ["to": "n", "forMs": "\(AdminRoutes.overrideMsMax + 1)"], "forMs"),
            ("/admin/sessions/-1/end", [:], "session"),
            ("/admin/revocations", [:], "exactly one"), ("/admin/revocations", ["uid": ""], "uid"),
            ("/admin/revocations", ["uid": "a", "key": "b"], "exactly one"),
            ("/admin/revocations", ["uid": "a", "later": "maybe"], "later"),
            ("/admin/revocations", ["uid": "a", "forMs": "-1"], "forMs"),
            ("/admin/revocations/clear", [:], "exactly one"),
        ] as [(String, [String: String], String)])
    func aMistakeIsNamed(_ path: String, _ query: [String: String], _ part: String) {
        let refusal = refusal(path, query)
        #expect(refusal?.code == .badRequest)
        #expect(refusal?.message.contains(part) == true, "\(refusal?.message ?? "no error")")
    }

    @Test func aYearIsTheLongestTime() throws {
        let longest = AdminRoutes.overrideMsMax
        #expect(
            try parse("/admin/shards/7/move", ["to": "n", "forMs": "\(longest)"])
                == .move(ShardID(7), to: NodeID("n"), forMs: longest))
    }
}
