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
        index.insert(1, rules: Fixture.rules([try Fixture.trigger(nil)]))
        #expect(matched(index, Fixture.event("M")) == [1])
        #expect(matched(index, Fixture.event("m")).isEmpty)
        #expect(matched(index, Fixture.event("Other")).isEmpty)
    }

    @Test func anEqualityJoinFindsTheSubscribersOfThatValueOnly() throws {
        let trigger = try Fixture.trigger("request.variables.genre == mutation.variables.genre")
        var index = RuleIndex()
        for (slot, genre) in ["a", "b", "a", "c"].enumerated() {
            index.insert(Int32(slot), rules: Fixture.rules([trigger], variables: ["genre": .string(genre)]))
        }
        #expect(matched(index, Fixture.event("M", ["genre": "a"])) == [0, 2])
        #expect(matched(index, Fixture.event("M", ["genre": "z"])).isEmpty)
    }

    @Test func numbersJoinAcrossTypesAndNullJoinsNull() throws {
        let trigger = try Fixture.trigger("mutation.variables.n == request.variables.n")
        var index = RuleIndex()
        index.insert(1, rules: Fixture.rules([trigger], variables: ["n": 3]))
        index.insert(2, rules: Fixture.rules([trigger], variables: ["n": "3"]))
        index.insert(3, rules: Fixture.rules([trigger], variables: ["n": .null]))
        #expect(matched(index, Fixture.event("M", ["n": 3.0])) == [1])
        #expect(matched(index, Fixture.event("M", ["n": "3"])) == [2])
        #expect(matched(index, Fixture.event("M", ["n": .null])) == [3])
    }

    @Test func aJoinValueThatCannotBeHashedIsEvaluated() throws {
        let trigger = try Fixture.trigger("request.variables.tags == mutation.variables.tags")
        var index = RuleIndex()
        index.insert(1, rules: Fixture.rules([trigger], variables: ["tags": ["a", "b"]]))
        index.insert(2, rules: Fixture.rules([trigger], variables: ["tags": "a"]))
        #expect(matched(index, Fixture.event("M", ["tags": ["a", "b"]])) == [1])
        #expect(matched(index, Fixture.event("M", ["tags": "a"])) == [2])
    }

    @Test func anAbsentAttributeIsAnErrorAndRefreshes() throws {
        let trigger = try Fixture.trigger("request.variables.x == mutation.variables.x")
        var index = RuleIndex()
        index.insert(1, rules: Fixture.rules([trigger], variables: ["x": 1]))
        index.insert(2, rules: Fixture.rules([trigger], variables: [:]))
        let present = index.match(Fixture.event("M", ["x": 2]))
        #expect(present.live.map(\.slot) == [2])
        #expect(present.conditionErrors == [trigger.id: 1])
        let absent = index.match(Fixture.event("M", [:]))
        #expect(absent.live.map(\.slot) == [1, 2])
        #expect(absent.conditionErrors == [trigger.id: 2])
    }

    @Test func theEventSideDecidesForAll() throws {
        let trigger = try Fixture.trigger(
            "mutation.variables.status == 'PUBLISHED' && request.variables.missing == mutation.variables.x")
        var index = RuleIndex()
        index.insert(1, rules: Fixture.rules([trigger]))
        // False absorbs the error of the other part.
        let draft = index.match(Fixture.event("M", ["status": "DRAFT"]))
        #expect(draft.live.isEmpty && draft.conditionErrors.isEmpty)
        #expect(index.match(Fixture.event("M", ["status": "PUBLISHED"])).conditionErrors == [trigger.id: 1])
    }

    @Test func theSubscriberSideKeepsOutWhoCanNeverMatch() throws {
        let trigger = try Fixture.trigger("request.auth.uid == 'a' && mutation.variables.x == 1")
        var index = RuleIndex()
        index.insert(1, rules: Fixture.rules([trigger], auth: ["uid": "a"]))
        index.insert(2, rules: Fixture.rules([trigger], auth: ["uid": "b"]))
        index.insert(3, rules: Fixture.rules([trigger], auth: ["token": [:]]))
        let matches = index.match(Fixture.event("M", ["x": 1]))
        #expect(matches.live.map(\.slot) == [1, 3])
        #expect(matches.conditionErrors == [trigger.id: 1])
    }

    @Test func theResidueIsEvaluatedForTheCandidatesOfTheJoin() throws {
        let trigger = try Fixture.trigger(
            "request.variables.genre == mutation.variables.genre && request.variables.year <= mutation.variables.year")
        var index = RuleIndex()
        index.insert(1, rules: Fixture.rules([trigger], variables: ["genre": "a", "year": 1990]))
        index.insert(2, rules: Fixture.rules([trigger], variables: ["genre": "a", "year": 2010]))
        index.insert(3, rules: Fixture.rules([trigger], variables: ["genre": "b", "year": 1990]))
        index.insert(4, rules: Fixture.rules([trigger], variables: ["genre": "a", "year": "old"]))
        let matches = index.match(Fixture.event("M", ["genre": "a", "year": 2000]))
        #expect(matches.live.map(\.slot) == [1, 4])
        #expect(matches.conditionErrors == [trigger.id: 1])
    }

    @Test func aValueThatIsNoBoolIsAnError() throws {
        let trigger = try Fixture.trigger("mutation.variables.x")
        var index = RuleIndex()
        index.insert(1, rules: Fixture.rules([trigger]))
        #expect(index.match(Fixture.event("M", ["x": 5])).conditionErrors == [trigger.id: 1])
        #expect(index.match(Fixture.event("M", ["x": true])).conditionErrors.isEmpty)
        #expect(matched(index, Fixture.event("M", ["x": false])).isEmpty)
    }

    @Test func implicitAndExplicitCausesAreTold() throws {
        var index = RuleIndex()
        let rules = Fixture.rules(
            [try Fixture.trigger(nil)], keys: [Fixture.key("1"), Fixture.key("1"), Fixture.key("2")])
        index.insert(7, rules: rules)
        #expect(index.match(Fixture.event("M")).live.map(\.causes) == [.trigger])
        #expect(index.match(Fixture.event("N", keys: [Fixture.key("2")])).live.map(\.causes) == [.implicit])
        let both = index.match(Fixture.event("M", keys: [Fixture.key("2"), Fixture.key("1")]))
        #expect(both.live.map(\.causes) == [[.trigger, .implicit]])
        #expect(matched(index, Fixture.event("N", keys: [Fixture.key("3"), Fixture.key("1", table: "actor")])).isEmpty)
    }

    @Test func removalLeavesNothing() throws {
        var index = RuleIndex()
        let triggers = [
            try Fixture.trigger(nil, number: 0),
            try Fixture.trigger("request.variables.a == mutation.variables.a", number: 1),
            try Fixture.trigger("request.auth.uid != null && mutation.variables.b == 1", number: 2),
        ]
        for slot in 0..<40 {
            let rules = Fixture.rules(
                triggers, keys: [Fixture.key("\(slot % 3)"), Fixture.key("\(slot)")],
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
        #expect(matched(index, Fixture.event("M", ["a": 1, "b": 1], keys: [Fixture.key("1")])).isEmpty)
    }
}
