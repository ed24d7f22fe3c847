import CEL
import JSON
import LiveModel
import SeededRandom
import Testing

@testable import Refresh

/// Live queries found by the row changes of events, against the naive way: each live query is asked about every change.
@Suite struct SiteIndexPropertyTests {
    private static let fields = ["a", "b", "c"]

    private static func site(_ operation: String, _ number: Int, _ table: String, _ guards: [String]) -> RowSite {
        RowSite(
            id: .init(operation: RefreshFixture.operation(operation), version: RefreshFixture.version, number: number),
            table: table, guardFields: guards, boundField: number == 1 ? "c" : nil,
            fields: number == 2 ? nil : ["a", "b"])
    }

    /// Values of bound fields; nil for those that are not known.
    private static func bound(_ random: inout SeededRandom) -> [BoundValues]? {
        if Int.random(in: 0..<4, using: &random) == 0 { return nil }
        return [BoundValues(["u", "v", "1"].filter { _ in Bool.random(using: &random) })]
    }

    private static let sites = [
        site("P", 0, "x", ["a"]), site("P", 1, "y", ["a", "b"]), site("Q", 0, "x", []), site("Q", 1, "y", ["b"]),
        site("Q", 2, "y", ["a", "b", "c"]),
    ]

    private static func value(_ random: inout SeededRandom) -> JSONValue {
        ["u", "v", .int(1), .null].randomElement(using: &random) ?? .null
    }

    private static func rules(_ random: inout SeededRandom) -> QueryRules {
        let operation = Bool.random(using: &random) ? "P" : "Q"
        let chosen = sites.filter { $0.id.operation.operation == operation }
        let automatic = AutomaticRules(
            sites: chosen.map { site in
                AutomaticRules.Site(
                    form: site,
                    values: site.guardFields.map { _ in
                        let value = value(&random)
                        return value.isNull ? nil : GuardValue.text(value)
                    })
            }, mayReadAnything: Int.random(in: 0..<12, using: &random) == 0)
        return QueryRules(triggers: [], lookupKeys: [], everyMs: nil, automatic: automatic, request: .null)
    }

    private static func image(_ random: inout SeededRandom) -> JSONObject? {
        if Int.random(in: 0..<3, using: &random) == 0 { return nil }
        var image = JSONObject()
        for field in fields where Bool.random(using: &random) { image[field] = value(&random) }
        return image
    }

    private static func event(_ random: inout SeededRandom) -> MutationEvent {
        var event = RefreshFixture.event("M")
        if Int.random(in: 0..<10, using: &random) == 0 { return event }
        event.rows = RowChanges(
            (0..<Int.random(in: 0..<4, using: &random)).map { _ in
                RowChange(
                    table: ["x", "y", "z"].randomElement(using: &random) ?? "x", before: image(&random),
                    after: image(&random),
                    changed: Bool.random(using: &random) ? nil : fields.filter { _ in Bool.random(using: &random) })
            })
        return event
    }

    @Test func findsWhatAskingEachLiveQueryFinds() {
        for seed in 0..<200 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var index = RuleIndex()
            var present: [Int32: QueryRules] = [:]
            for step in 0..<60 as Range<Int32> {
                if Int.random(in: 0..<3, using: &random) > 0 {
                    let rules = Self.rules(&random)
                    index.insert(step, rules: rules)
                    present[step] = rules
                } else if let slot = present.keys.sorted().randomElement(using: &random) {
                    if Bool.random(using: &random) {
                        let values = Self.bound(&random)
                        let former = present[slot]?.automatic?.sites.map(\.bound)
                        let hasChanged = index.bind(slot, values, countMax: 2)
                        _ = present[slot]?.automatic?.bind(values, 2)
                        #expect(hasChanged == (former != present[slot]?.automatic?.sites.map(\.bound)))
                        continue
                    }
                    index.remove(slot)
                    present[slot] = nil
                }
                let event = Self.event(&random)
                let expected = present.filter { RuleIndex.concerns(event, rules: $0.value) }.keys.sorted()
                #expect(index.match(event).live.map(\.slot) == expected, "seed \(seed), step \(step)")
            }
            for slot in present.keys { index.remove(slot) }
            #expect(leftovers(in: index).isEmpty, "seed \(seed)")
        }
    }
}

/// The meaning of a row change for a live query of a site.
@Suite struct SiteIndexTests {
    private static let form = RowSite(
        id: .init(operation: RefreshFixture.operation("Q"), version: RefreshFixture.version, number: 0), table: "bid",
        guardFields: ["lotId", "open"], fields: ["lotId", "open", "amount"])

    private static func concerns(_ rows: [RowChange]?, _ values: [String?] = ["1", "true"]) -> Bool {
        var event = RefreshFixture.event("M")
        event.rows = rows.map { RowChanges($0) }
        let rules = QueryRules(
            triggers: [], lookupKeys: [], everyMs: nil,
            automatic: AutomaticRules(sites: [.init(form: form, values: values)], mayReadAnything: false),
            request: .null)
        var index = RuleIndex()
        index.insert(7, rules: rules)
        let found = index.match(event).live
        #expect(found.isEmpty || found.map(\.causes) == [.automatic])
        #expect(!found.isEmpty == RuleIndex.concerns(event, rules: rules))
        return !found.isEmpty
    }

    @Test func eitherImageOfARowMaySatisfyTheGuards() {
        #expect(Self.concerns([RowChange(table: "bid", before: nil, after: ["lotId": 1, "open": true])]))
        #expect(!Self.concerns([RowChange(table: "bid", before: nil, after: ["lotId": 2, "open": true])]))
        #expect(!Self.concerns([RowChange(table: "bid", before: nil, after: ["lotId": 1, "open": false])]))
        #expect(!Self.concerns([RowChange(table: "lot", before: nil, after: ["lotId": 1, "open": true])]))
        #expect(Self.concerns([RowChange(table: "bid", before: ["lotId": 1], after: ["lotId": 2])]))
        #expect(!Self.concerns([RowChange(table: "bid", before: ["lotId": 3], after: ["lotId": 2])]))
        #expect(Self.concerns([RowChange(table: "bid", before: ["lotId": 1], after: nil)]))
    }

    @Test func unknownValuesMaySatisfyEveryGuard() {
        #expect(Self.concerns([RowChange(table: "bid", before: [:], after: ["lotId": 2])]))
        #expect(Self.concerns([RowChange(table: "bid", before: nil, after: ["open": true])]))
        #expect(!Self.concerns([RowChange(table: "bid", before: nil, after: ["open": false])]))
        #expect(Self.concerns([.anything(in: "bid")]))
        #expect(
            Self.concerns([RowChange(table: "bid", before: nil, after: ["lotId": 2, "open": true])], [nil, "true"]))
        // Nothing was recorded.
        #expect(Self.concerns(nil))
        #expect(!Self.concerns([]))
    }

    /// A nested list shows rows below those that the last run read.
    @Test func aBoundFieldHasTheValuesOfTheLastRun() {
        let form = RowSite(
            id: .init(operation: RefreshFixture.operation("Q"), version: RefreshFixture.version, number: 0),
            table: "bid", guardFields: [], boundField: "lotId", fields: nil)
        var index = RuleIndex()
        index.insert(
            7,
            rules: QueryRules(
                triggers: [], lookupKeys: [], everyMs: nil,
                automatic: AutomaticRules(sites: [.init(form: form, values: [])], mayReadAnything: false),
                request: .null))
        func concerns(_ before: JSONObject?, _ after: JSONObject?) -> Bool {
            var event = RefreshFixture.event("M")
            event.rows = RowChanges([RowChange(table: "bid", before: before, after: after)])
            let found = !index.match(event).live.isEmpty
            #expect(found == index.rules(of: 7).map { RuleIndex.concerns(event, rules: $0) })
            return found
        }
        func bind(_ values: [BoundValues], countMax: Int) -> Bool { index.bind(7, values, countMax: countMax) }
        // Unknown before the first run.
        #expect(concerns(nil, ["lotId": 3]))
        #expect(bind([BoundValues(["1", "2"])], countMax: 10))
        #expect(concerns(nil, ["lotId": 1]))
        #expect(!concerns(nil, ["lotId": 3]))
        #expect(concerns(["lotId": "2"], ["lotId": 3]))
        #expect(concerns(nil, [:]))
        #expect(!concerns(nil, ["lotId": .null]))
        #expect(!bind([BoundValues(["2", "1"])], countMax: 10))
        #expect(bind([BoundValues(["3"])], countMax: 10))
        #expect(concerns(nil, ["lotId": 3]))
        #expect(!concerns(nil, ["lotId": 1]))
        // Too many to remember.
        #expect(bind([BoundValues(["1", "2"])], countMax: 1))
        #expect(concerns(nil, ["lotId": 9]))
        index.remove(7)
        #expect(leftovers(in: index).isEmpty)
    }

    @Test func updatesOfOtherFieldsChangeNothing() {
        func update(_ changed: [String]?) -> RowChange {
            RowChange(table: "bid", before: ["lotId": 1], after: ["lotId": 1], changed: changed)
        }
        #expect(!Self.concerns([update(["note"])]))
        #expect(Self.concerns([update(["note", "amount"])]))
        #expect(Self.concerns([update(nil)]))
    }
}
