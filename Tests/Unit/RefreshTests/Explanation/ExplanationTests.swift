import CEL
import Inspection
import JSON
import LiveModel
import Refresh
import Testing

/// The words of explanations. The property tests of the index compare the verdicts.
@Suite struct ExplanationTests {
    private func reason(
        _ condition: String, _ request: JSONObject, _ mutation: JSONObject, auth: JSONValue = .null,
        _ redaction: Redaction = Redaction()
    ) throws -> String {
        let rules = RefreshFixture.rules(
            [try RefreshFixture.trigger(condition)], variables: request, auth: auth)
        let verdicts = rules.explain(RefreshFixture.event("M", mutation, auth: auth), redaction)
        return "\(verdicts[0].outcome): \(verdicts[0].reason)"
    }

    @Test func theDecidingPartIsNamedWithItsValues() throws {
        let join = "mutation.variables.category == request.variables.category"
        #expect(
            try reason(join, ["category": "Sci-Fi"], ["category": "Drama"])
                == "no: mutation.variables.category: 'Drama' ≠ 'Sci-Fi'")
        #expect(try reason(join, ["category": "a"], ["category": "a"]) == "matched: the condition holds")
        #expect(
            try reason("request.variables.year < mutation.variables.year && true", ["year": 3], ["year": 2])
                == "no: request.variables.year < mutation.variables.year is false (mutation.variables.year = 2, "
                + "request.variables.year = 3)")
        #expect(
            try reason("request.variables.year < mutation.variables.year", ["year": 3], [:]).hasPrefix(
                "error: request.variables.year < mutation.variables.year fails: "))
        #expect(try reason("mutation.variables.flag", [:], ["flag": 1]).contains("is a int, not true or false"))
    }

    @Test func secretsStayHidden() throws {
        let auth: JSONValue = ["uid": "u1", "token": ["org": "acme"]]
        let text = try reason(
            "mutation.auth.token.org == request.variables.org", ["org": "other"], [:], auth: auth)
        #expect(text == "no: mutation.auth.token.org: (redacted) ≠ 'other'")
        let named = try reason(
            "mutation.variables.data == request.variables.data", ["data": ["pin": 1, "a": 2]], ["data": ["pin": 3]],
            Redaction(names: ["pin"]))
        #expect(named.contains("{pin: (redacted)}") && named.contains("{pin: (redacted), a: 2}"))
    }

    @Test func otherRulesSayWhatTheyAreAbout() throws {
        let rules = RefreshFixture.rules(
            [try RefreshFixture.trigger(nil), try RefreshFixture.trigger(nil, on: "N", number: 1)],
            keys: [RefreshFixture.key("1")])
        let verdicts = rules.explain(RefreshFixture.event("M", keys: [RefreshFixture.key("2")]))
        #expect(verdicts.map(\.outcome) == [.no, .matched, .notConcerned])
        #expect(verdicts[0].reason == "the mutation wrote another row of novel")
        #expect(verdicts[2].rule == "onMutationExecuted N" && verdicts[2].reason.contains("is about c/N"))
    }

    @Test func sitesSayWhichRowDecides() throws {
        let form = RowSite(
            id: .init(operation: RefreshFixture.operation("Q"), version: RefreshFixture.version, number: 0),
            table: "bid", guardFields: ["lotId"], fields: ["lotId", "amount"])
        func verdict(_ change: RowChange, observed: Bool = false) -> RuleVerdict {
            var event = RefreshFixture.event("M")
            event.rows = RowChanges([change])
            let rules = QueryRules(
                triggers: [], lookupKeys: [], everyMs: nil,
                automatic: AutomaticRules(
                    sites: [.init(form: form, values: [.one("1")])], mayReadAnything: false, isObserved: observed),
                request: .null)
            return rules.explain(event)[0]
        }
        let other = verdict(RowChange(table: "bid", before: nil, after: ["lotId": 2]))
        #expect(
            other.outcome == .no && other.reason == "bid.lotId: 2 ≠ '1'"
                && other.rule == "automatic: bid where lotId = '1'")
        #expect(verdict(RowChange(table: "bid", before: nil, after: ["lotId": 1])).outcome == .matched)
        #expect(verdict(RowChange(table: "bid", before: nil, after: ["lotId": 1]), observed: true).outcome == .observed)
        #expect(verdict(RowChange(table: "lot", before: nil, after: [:])).outcome == .notConcerned)
        let note = verdict(RowChange(table: "bid", before: ["lotId": 1], after: ["lotId": 1], changed: ["note"]))
        #expect(note.outcome == .no && note.reason.contains("only note changed"))
    }
}
