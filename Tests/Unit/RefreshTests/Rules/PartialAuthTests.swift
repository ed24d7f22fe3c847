import JSON
import LiveModel
import Refresh
import Testing

/// Events of a node whose catalogs do not have the condition: they have only parts of the writer's `auth`.
@Suite struct PartialAuthTests {
    private static let writer = Auth(uid: "w", token: ["org": 1, "vip": true])

    private func index(_ condition: String, variables: [String] = ["a", "b"]) throws -> RuleIndex {
        var index = RuleIndex()
        for (slot, variable) in variables.enumerated() {
            index.insert(Int32(slot), rules: try rules(condition, variable))
        }
        return index
    }

    private func rules(_ condition: String, _ variable: String) throws -> QueryRules {
        RefreshFixture.rules(
            [try RefreshFixture.trigger(condition)], variables: ["x": .string(variable)],
            auth: ["uid": "r", "token": ["org": 1]])
    }

    /// Each is true of the writer, and false or an error of an event without `auth`.
    private static let conditions = [
        "has(mutation.auth.token.vip)", "mutation.auth != null", "'vip' in mutation.auth.token",
        "has(mutation.auth.uid) && mutation.variables.x == 'a'",
        "request.variables.x == mutation.variables.x && has(mutation.auth.token.vip)",
        "mutation.auth.token.org == request.auth.token.org", "mutation.auth.uid == 'w'",
    ]

    @Test(arguments: conditions, [[], [["token", "other"]], [["other"]]] as [[[String]]])
    func aMissingPartIsInDoubtAndRefreshes(condition: String, paths: [[String]]) throws {
        let event = RefreshFixture.event("M", ["x": "a"], by: Self.writer, parts: paths)
        let matches = try index(condition, variables: ["a"]).match(event)
        #expect(matches.live.map(\.slot) == [0])
        #expect(Array(matches.conditionErrors.values) == [1])
        #expect(RuleIndex.concerns(event, rules: try rules(condition, "a")))
    }

    @Test(arguments: conditions) func anEventWithAllPartsIsDecided(condition: String) throws {
        let event = RefreshFixture.event("M", ["x": "a"], by: Self.writer, parts: [[]])
        #expect(try index(condition, variables: ["a"]).match(event).conditionErrors.isEmpty)
        #expect(RuleIndex.concerns(event, rules: try rules(condition, "a")))
        let other = RefreshFixture.event("M", ["x": "a"], by: Auth(uid: "v", token: [:]), parts: [[]])
        let matches = try index("has(mutation.auth.token.vip)").match(other)
        #expect(matches.live.isEmpty && matches.conditionErrors.isEmpty)
    }

    @Test func anotherPartOfTheConditionStillDecides() throws {
        let condition = "request.variables.x == mutation.variables.x && has(mutation.auth.token.vip)"
        let event = RefreshFixture.event("M", ["x": "b"], by: Self.writer, parts: [["uid"]])
        let matches = try index(condition).match(event)
        #expect(matches.live.map(\.slot) == [1])
        #expect(Array(matches.conditionErrors.values) == [1])
        #expect(!RuleIndex.concerns(event, rules: try rules(condition, "a")))
        #expect(RuleIndex.concerns(event, rules: try rules(condition, "b")))
    }

    @Test func aSignedOutWriterHasNoParts() throws {
        let event = RefreshFixture.event("M", ["x": "a"], by: nil, parts: [["token", "other"]])
        for condition in ["mutation.auth != null", "mutation.auth.uid == 'w'"] {
            let matches = try index(condition).match(event)
            #expect(matches.live.isEmpty && matches.conditionErrors.isEmpty)
        }
    }

    @Test func anEventWithoutARecordHasAllParts() throws {
        var event = RefreshFixture.event("M", ["x": "a"], by: Self.writer, parts: [["uid"]])
        event.authParts = nil
        #expect(try index("has(mutation.auth.token.vip)").match(event).live.isEmpty)
        #expect(!RuleIndex.concerns(event, rules: try rules("has(mutation.auth.token.vip)", "a")))
    }
}
