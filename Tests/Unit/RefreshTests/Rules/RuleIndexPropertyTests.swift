import CEL
import Inspection
import JSON
import LiveModel
import Refresh
import SeededRandom
import Testing

/// The index against the naive way: every rule of every live query is asked about every event.
@Suite struct RuleIndexPropertyTests {
    private static let parts = [
        "request.variables.a == mutation.variables.a", "mutation.variables.b == request.variables.b",
        "request.variables.a == mutation.variables.b", "request.auth.uid == mutation.auth.uid",
        "mutation.auth.token.org == request.auth.token.org", "mutation.variables.b == 'x'",
        "'y' == mutation.variables.a",
        "request.variables.flag", "mutation.variables.flag", "request.variables.a < mutation.variables.a",
        "request.variables.missing == 1", "has(mutation.variables.a)",
        "(request.variables.a == 1 || mutation.variables.b == 'x')",
        "request.variables.a != mutation.variables.b", "mutation.variables.list == request.variables.list", "true",
        "mutation.variables.a in [1, 'x']", "request.auth != null", "mutation.auth == null",
        "has(mutation.auth.token.org)", "!has(mutation.auth.uid)", "'org' in mutation.auth.token",
        "request.auth == mutation.auth",
    ]
    private static let values: [JSONValue] = [
        .null, 0, 1, 1.0, 2.5, "x", "y", "", true, false, ["x"], [1, .null], ["k": 1],
    ]

    private static func variables(_ random: inout SeededRandom) -> JSONObject {
        var object = JSONObject()
        for name in ["a", "b", "flag", "list"] where Int.random(in: 0..<5, using: &random) > 0 {
            object[name] = values.randomElement(using: &random)
        }
        return object
    }

    private static func auth(_ random: inout SeededRandom) -> JSONValue {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: .null
        case 1: ["uid": "u1", "token": [:]]
        case 2: ["uid": "u1", "token": ["org": 1]]
        default: ["uid": "u2", "token": ["org": 1.0]]
        }
    }

    /// Nil: not recorded.
    private static func parts(_ random: inout SeededRandom) -> AuthReads? {
        if Bool.random(using: &random) { return nil }
        return RefreshFixture.authReads(
            [[], ["uid"], ["token"], ["token", "org"], ["token", "other"]].filter { _ in
                Int.random(in: 0..<4, using: &random) == 0
            })
    }

    /// An event that tells of its writer only some parts, and the same event with all of them.
    private static func event(_ random: inout SeededRandom) -> (partial: MutationEvent, whole: MutationEvent) {
        let auth = auth(&random)
        let whole = RefreshFixture.event(
            Bool.random(using: &random) ? "M" : "N", variables(&random), auth: auth,
            keys: (0..<Int.random(in: 0...2, using: &random)).map { _ in key(&random) })
        guard let parts = parts(&random) else { return (whole, whole) }
        var partial = whole
        partial.authParts = parts
        partial.auth = parts.project(RefreshFixture.query(auth: auth).projectedAuth) ?? .null
        return (partial, whole)
    }

    private static func key(_ random: inout SeededRandom) -> EntityKey {
        RefreshFixture.key(String(Int.random(in: 0..<4, using: &random)))
    }

    private struct Naive {
        var rules: [Int32: QueryRules] = [:]

        func match(_ event: MutationEvent) -> (live: [Int32: RuleIndex.Causes], errors: [Trigger.ID: Int]) {
            var live: [Int32: RuleIndex.Causes] = [:]
            var errors: [Trigger.ID: Int] = [:]
            for (slot, rules) in rules {
                if rules.lookupKeys.contains(where: event.keysWritten.contains) {
                    live[slot, default: []].insert(.implicit)
                }
                for trigger in rules.triggers where trigger.mutation == event.operation {
                    switch evaluate(trigger, rules, event) {
                    case true?: live[slot, default: []].formUnion(.trigger(trigger.id.number))
                    case false?: break
                    case nil:
                        live[slot, default: []].formUnion(.trigger(trigger.id.number))
                        errors[trigger.id, default: 0] += 1
                    }
                }
            }
            return (live, errors)
        }

        private func evaluate(_ trigger: Trigger, _ rules: QueryRules, _ event: MutationEvent) -> Bool? {
            guard let condition = trigger.condition else { return true }
            let activation = ConditionActivation(request: rules.request, mutation: event.conditionValue)
            let isKnown = condition.conjuncts.map { RuleIndexPropertyTests.isTold($0.program.source, by: event) }
            if isKnown.contains(false) {
                let isFalse = zip(condition.conjuncts, isKnown).contains { conjunct, isKnown in
                    guard isKnown, case .bool(false)? = try? conjunct.program.evaluate(activation) else { return false }
                    return true
                }
                return isFalse ? false : nil
            }
            guard case .bool(let holds)? = try? condition.evaluate(activation) else { return nil }
            return holds
        }
    }

    private static func isTold(_ text: String, by event: MutationEvent) -> Bool {
        guard let parts = event.authParts, text.contains("mutation.auth") else { return true }
        if event.auth == .null, parts.presence { return true }
        if text.contains("mutation.auth.uid") { return parts.uid }
        if text.contains("mutation.auth.token.org") { return parts.wholeToken || parts.claims.contains("org") }
        if text.contains("mutation.auth.token") { return parts.wholeToken }
        return parts.uid && parts.wholeToken
    }

    @Test(arguments: 1...12)
    func theIndexSaysWhatTheNaiveWaySays(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var triggers: [Trigger] = []
        for number in 0..<8 {
            let count = Int.random(in: 0...3, using: &random)
            let text = (0..<count).map { _ in Self.parts.randomElement(using: &random) ?? "true" }
            triggers.append(
                try RefreshFixture.trigger(
                    count == 0 ? nil : text.joined(separator: " && "),
                    on: Bool.random(using: &random) ? "M" : "N", number: number))
        }
        var index = RuleIndex()
        var naive = Naive()
        var next: Int32 = 0
        for step in 0..<250 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                next += 1
                let rules = RefreshFixture.rules(
                    triggers.filter { _ in Bool.random(using: &random) },
                    keys: (0..<Int.random(in: 0...2, using: &random)).map { _ in Self.key(&random) },
                    variables: Self.variables(&random), auth: Self.auth(&random))
                index.insert(next, rules: rules)
                naive.rules[next] = rules
            case 2 where !naive.rules.isEmpty:
                guard let slot = naive.rules.keys.sorted().randomElement(using: &random) else { continue }
                index.remove(slot)
                naive.rules[slot] = nil
            default:
                let (event, whole) = Self.event(&random)
                let found = index.match(event)
                let expected = naive.match(event)
                let live = Dictionary(uniqueKeysWithValues: found.live.map { ($0.slot, $0.causes) })
                try #require(live == expected.live, "seed \(seed), step \(step)")
                try #require(found.conditionErrors == expected.errors, "seed \(seed), step \(step)")
                try #require(
                    index.match(whole).live.allSatisfy { live[$0.slot] != nil },
                    "seed \(seed), step \(step): what the event does not tell must not keep a query from refreshing")
                for (slot, rules) in naive.rules {
                    let explained = rules.explain(event)
                    let causes = live[slot] ?? []
                    try #require(
                        explained.contains { $0.kind == .key && $0.isMatch } == causes.contains(.implicit)
                            && explained.contains { $0.kind == .trigger && $0.isMatch } == causes.contains(.trigger),
                        "seed \(seed), step \(step), slot \(slot): \(explained)")
                    try #require(explained.allSatisfy { !$0.reason.isEmpty }, "seed \(seed), step \(step)")
                    try #require(
                        RuleIndex.concerns(event, rules: rules) == (expected.live[slot] != nil),
                        "seed \(seed), step \(step), slot \(slot)")
                }
            }
        }
        for slot in naive.rules.keys { index.remove(slot) }
        #expect(leftovers(in: index).isEmpty, "seed \(seed)")
    }
}
