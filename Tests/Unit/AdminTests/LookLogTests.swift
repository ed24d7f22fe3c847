import JSON
import LiveModel
import NIOHTTP1
import Testing

@testable import Admin

/// Lines of the audit log about looks at users' data, and questions as requests give them.
@Suite struct LookLogTests {
    private static func look(_ text: String) -> Digest { Digest(of: Array(text.utf8)) }

    @Test func aScreenThatAsksAgainIsOneLook() {
        var log = LookLog()
        #expect(log.asked(Self.look("a"), nowMs: 0) == 0)
        for second in 1...100 { #expect(log.asked(Self.look("a"), nowMs: Int64(second) * 3_000) == nil) }
        #expect(log.asked(Self.look("b"), nowMs: 300_000) == 0, "other data, or another person")
        // It goes on for long.
        for second in 101..<200 { _ = log.asked(Self.look("a"), nowMs: Int64(second) * 3_000) }
        #expect(log.asked(Self.look("a"), nowMs: LookLog.againMs) == 199)
        #expect(
            log.asked(Self.look("a"), nowMs: LookLog.againMs + LookLog.pauseMs) == 0,
            "after a pause it is a look of its own")
    }

    @Test func looksBeyondTheBoundLeaveALineEach() {
        var log = LookLog()
        for look in 0..<LookLog.looksMax { _ = log.asked(Self.look("\(look)"), nowMs: 0) }
        #expect(log.asked(Self.look("more"), nowMs: 1) == 0 && log.asked(Self.look("more"), nowMs: 2) == 0)
        #expect(log.asked(Self.look("0"), nowMs: 3) == nil)
        // Those of the past make room.
        #expect(log.asked(Self.look("more"), nowMs: LookLog.pauseMs + 3) == 0)
        #expect(log.asked(Self.look("more"), nowMs: LookLog.pauseMs + 4) == nil)
    }

    private static let parameters: [AdminParameter] = ["key", "operation", "session", "variables", "uid", "claims"].map
    {
        .query($0, .text(bytesMax: 100_000), "")
    }

    private static func question(_ body: JSONObject) throws -> WhyQuestion {
        try WhyQuestion(AdminArguments(parameters, path: [:], query: AdminArguments.items(ofBody: body)))
    }

    @Test func aSessionMayBeAskedAboutOneOfItsLiveQueries() throws {
        let key = String(repeating: "ab", count: 32)
        let question = try Self.question(["session": "n/7", "key": .string(key)])
        guard case .session(let node, let id, nil, let asked?) = question.subject else {
            Issue.record("another subject")
            return
        }
        #expect(node == "n" && id == 7 && asked.description == key)
        #expect(throws: RequestError.self) { try Self.question(["session": "n/7", "key": "ab"]) }
        #expect(throws: RequestError.self) { try Self.question(["operation": "c/Q", "key": .string(key)]) }
    }

    /// A body may hold variables that no request target could, as an object or as text.
    @Test func aBodyHasWhatIsTooLongForATarget() throws {
        let long = String(repeating: "x", count: 20_000)
        for variables: JSONValue in [["a": .string(long)], .string("{\"a\":\"\(long)\"}")] {
            let question = try Self.question(["operation": "c/Q", "variables": variables])
            guard case .operation("c", "Q", let read, nil) = question.subject else {
                Issue.record("another subject")
                return
            }
            #expect(read["a"]?.stringValue == long)
        }
        #expect(throws: RequestError.self) { try Self.question(["operation": "c/Q", "other": 1]) }
        #expect(AdminArguments.items(ofBody: ["a": .null, "b": 3]).map(\.value) == ["3"])
    }

    @Test func theQuestionMayBeReadByThoseWhoMayChangeNothing() throws {
        #expect(try AdminRoutes.find(.POST, "/admin/v1/why").route.isRead)
        #expect(try !AdminRoutes.find(.POST, "/admin/v1/revocations").route.isRead)
    }

    /// A route that is added here must not show data of users.
    @Test func everyOtherRouteLeavesALineForEachLook() {
        let others = AdminRoutes.all.filter { $0.method == .GET && !$0.isLook }.map(\.path)
        #expect(
            Set(others) == [
                "/healthz", "/readyz", "/metrics", "/admin/v1/openapi.json", "/admin/v1/status", "/admin/v1/nodes",
                "/admin/v1/shards", "/admin/v1/overrides", "/admin/orders", "/admin/v1/slot", "/admin/v1/rules",
                "/admin/v1/adoption", "/admin/v1/deployments", "/admin/v1/overview", "/admin/v1/console",
                "/admin/v1/schema", "/admin/v1/operations", "/admin/v1/operations/{connector}/{operation}",
                "/admin/v1/top", "/admin/v1/capacity", "/admin/v1/recording", "/admin/v1/events/recording",
            ])
    }

    @Test func anIDTokenEndsWithItsUser() {
        #expect(AdminCaller.user(Auth(uid: "ann", token: ["exp": 1_700_000_000])).expiresAtMs == 1_700_000_000_000)
        #expect(AdminCaller.user(Auth(uid: "ann", token: [:])).expiresAtMs == nil)
        #expect(AdminCaller.tokenHolder.expiresAtMs == nil)
    }
}
