import CEL
import JSON
import LiveModel
import Refresh
import Testing

@Suite struct RuleIndexTests {
    private func matched(_ index: RuleIndex, _ event: MutationEvent) -> [Int32] {
        index.match(event).live.map(\.slot)
    }

    @Test func aRuleWithoutConditionMatchesEveryExecutionOfItsMutation() throws {
        var index = RuleIndex()
        index.insert(1, rules: RefreshFixture.rules([try RefreshFixture.trigger(nil)]))
        #expect(matched(index, RefreshFixture.event("M")) == [1])
        #expect(matched(index, RefreshFixture.event("m")).isEmpty)
        #expect(matched(index, RefreshFixture.event("Other")).isEmpty)
    }

    @Test func anEqualityJoinFindsTheSubscribersOfThatValueOnly() throws {
        let trigger = try RefreshFixture.trigger("request.variables.genre == mutation.variables.genre")
        var index = RuleIndex()
        for (slot, genre) in ["a", "b", "a", "c"].enumerated() {
            index.insert(Int32(slot), rules: RefreshFixture.rules([trigger], variables: ["genre": .string(genre)]))
        }
        #expect(matched(index, RefreshFixture.event("M", ["genre": "a"])) == [0, 2])
        #expect(matched(index, RefreshFixture.event("M", ["genre": "z"])).isEmpty)
    }

    @Test func numbersJoinAcrossTypesAndNullJoinsNull() throws {
        let trigger = try RefreshFixture.trigger("mutation.variables.n == request.variables.n")
        var index = RuleIndex()
        index.insert(1, rules: RefreshFixture.rules([trigger], variables: ["n": 3]))
        index.insert(2, rules: RefreshFixture.rules([trigger], variables: ["n": "3"]))
        index.insert(3, rules: RefreshFixture.rules([trigger], variables: ["n": .null]))
        #expect(matched(index, RefreshFixture.event("M", ["n": 3.0])) == [1])
        #expect(matched(index, RefreshFixture.event("M", ["n": "3"])) == [2])
        #expect(matched(index, RefreshFixture.event("M", ["n": .null])) == [3])
    }

    @Test func aJoinValueThatCannotBeHashedIsEvaluated() throws {
        let trigger = try RefreshFixture.trigger("request.variables.tags == mutation.variables.tags")
        var index = RuleIndex()
        index.insert(1, rules: RefreshFixture.rules([trigger], variables: ["tags": ["a", "b"]]))
        index.insert(2, rules: RefreshFixture.rules([trigger], variables: ["tags": "a"]))
        #expect(matched(index, RefreshFixture.event("M", ["tags": ["a", "b"]])) == [1])
        #expect(matched(index, RefreshFixture.event("M", ["tags": "a"])) == [2])
    }

    @Test func anAbsentAttributeIsAnErrorAndRefreshes() throws {
        let trigger = try RefreshFixture.trigger("request.variables.x == mutation.variables.x")
        var index = RuleIndex()
        index.insert(1, rules: RefreshFixture.rules([trigger], variables: ["x": 1]))
        index.insert(2, rules: RefreshFixture.rules([trigger], variables: [:]))
        let present = index.match(RefreshFixture.event("M", ["x": 2]))
        #expect(present.live.map(\.slot) == [2])
        #expect(present.conditionErrors == [trigger.id: 1])
        let absent = index.match(RefreshFixture.event("M", [:]))
        #expect(absent.live.map(\.slot) == [1, 2])
        #expect(absent.conditionErrors == [trigger.id: 2])
    }

    @Test func theEventSideDecidesForAll() throws {
        let trigger = try RefreshFixture.trigger(
            "mutation.variables.status == 'PUBLISHED' && request.variables.missing == mutation.variables.x")
        var index = RuleIndex()
        index.insert(1, rules: RefreshFixture.rules([trigger]))
        // False absorbs the error of the other part.
        let draft = index.match(RefreshFixture.event("M", ["status": "DRAFT"]))
        #expect(draft.live.isEmpty && draft.conditionErrors.isEmpty)
        #expect(index.match(RefreshFixture.event("M", ["status": "PUBLISHED"])).conditionErrors == [trigger.id: 1])
    }

    @Test func theSubscriberSideKeepsOutWhoCanNeverMatch() throws {
        let trigger = try RefreshFixture.trigger("request.auth.uid == 'a' && mutation.variables.x == 1")
        var index = RuleIndex()
        index.insert(1, rules: RefreshFixture.rules([trigger], auth: ["uid": "a"]))
        index.insert(2, rules: RefreshFixture.rules([trigger], auth: ["uid": "b"]))
        index.insert(3, rules: RefreshFixture.rules([trigger], auth: ["token": [:]]))
        let matches = index.match(RefreshFixture.event("M", ["x": 1]))
        #expect(matches.live.map(\.slot) == [1, 3])
        #expect(matches.conditionErrors == [trigger.id: 1])
    }

    @Test func liveQueriesThatCanNeverMatchLeaveTheIndexInAnyOrder() throws {
        let trigger = try RefreshFixture.trigger("request.auth.uid == 'a' && mutation.variables.x == 1")
        var index = RuleIndex()
        for slot in Int32(1)...2 { index.insert(slot, rules: RefreshFixture.rules([trigger], auth: ["uid": "b"])) }
        for slot in Int32(1)...2 {
            #expect(matched(index, RefreshFixture.event("M", ["x": 1])).isEmpty)
            index.remove(slot)
        }
        index.insert(3, rules: RefreshFixture.rules([trigger], auth: ["uid": "a"]))
        #expect(matched(index, RefreshFixture.event("M", ["x": 1])) == [3])
    }

    @Test func theResidueIsEvaluatedForTheCandidatesOfTheJoin() throws {
        let trigger = try RefreshFixture.trigger(
            "request.variables.genre == mutation.variables.genre && request.variables.year <= mutation.variables.year")
        var index = RuleIndex()
        index.insert(1, rules: RefreshFixture.rules([trigger], variables: ["genre": "a", "year": 1990]))
        index.insert(2, rules: RefreshFixture.rules([trigger], variables: ["genre": "a", "year": 2010]))
        index.insert(3, rules: RefreshFixture.rules([trigger], variables: ["genre": "b", "year": 1990]))
        index.insert(4, rules: RefreshFixture.rules([trigger], variables: ["genre": "a", "year": "old"]))
        let matches = index.match(RefreshFixture.event("M", ["genre": "a", "year": 2000]))
        #expect(matches.live.map(\.slot) == [1, 4])
        #expect(matches.conditionErrors == [trigger.id: 1])
    }

    @Test func aValueThatIsNoBoolIsAnError() throws {
        let trigger = try RefreshFixture.trigger("mutation.variables.x")
        var index = RuleIndex()
        index.insert(1, rules: RefreshFixture.rules([trigger]))
        #expect(index.match(RefreshFixture.event("M", ["x": 5])).conditionErrors == [trigger.id: 1])
        #expect(index.match(RefreshFixture.event("M", ["x": true])).conditionErrors.isEmpty)
        #expect(matched(index, RefreshFixture.event("M", ["x": false])).isEmpty)
    }

    @Test func matchesNameImplicitAndExplicitCauses() throws {
        var index = RuleIndex()
        let rules = RefreshFixture.rules(
            [try RefreshFixture.trigger(nil)],
            keys: [RefreshFixture.key("1"), RefreshFixture.key("1"), RefreshFixture.key("2")])
        index.insert(7, rules: rules)
        #expect(index.match(RefreshFixture.event("M")).live.map(\.causes) == [.trigger(0)])
        #expect(
            index.match(RefreshFixture.event("N", keys: [RefreshFixture.key("2")])).live.map(\.causes) == [.implicit])
        let both = index.match(RefreshFixture.event("M", keys: [RefreshFixture.key("2"), RefreshFixture.key("1")]))
        #expect(both.live.map(\.causes) == [[.trigger(0), .implicit]])
        #expect(
            matched(
                index,
                RefreshFixture.event("N", keys: [RefreshFixture.key("3"), RefreshFixture.key("1", table: "actor")])
            ).isEmpty)
    }

    @Test func removalLeavesNothing() throws {
        var index = RuleIndex()
        let triggers = [
            try RefreshFixture.trigger(nil, number: 0),
            try RefreshFixture.trigger("request.variables.a == mutation.variables.a", number: 1),
            try RefreshFixture.trigger("request.auth.uid != null && mutation.variables.b == 1", number: 2),
        ]
        for slot in 0..<40 {
            let rules = RefreshFixture.rules(
                triggers, keys: [RefreshFixture.key("\(slot % 3)"), RefreshFixture.key("\(slot)")],
                variables: slot % 2 == 0 ? ["a": .int(Int64(slot % 4))] : [:],
                auth: slot % 5 == 0 ? .null : ["uid": "u"])
            index.insert(Int32(slot), rules: rules)
        }
        #expect(index.count == 40)
        for slot in (0..<40).shuffled() {
            index.remove(Int32(slot))
            index.remove(Int32(slot))
        }
        #expect(index.count == 0)
        #expect(leftovers(in: index).isEmpty)
        #expect(matched(index, RefreshFixture.event("M", ["a": 1, "b": 1], keys: [RefreshFixture.key("1")])).isEmpty)
    }
}
