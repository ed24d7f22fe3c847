import CEL
import Inspection
import JSON
import LiveModel
import SeededRandom
import Testing

@testable import Refresh

/// Live queries found by the row changes of events, against the naive way: each live query is asked about every change.
@Suite struct SiteIndexPropertyTests {
    private static let fields = ["a", "b", "c", "k", "o"]

    private static func site(
        _ operation: String, _ number: Int, _ table: String, _ guards: [String], bound: String? = nil,
        isShown: Bool = false, isConditional: Bool = false, namesFields: Bool = false
    ) -> RowSite {
        RowSite(
            id: .init(operation: RefreshFixture.operation(operation), version: RefreshFixture.version, number: number),
            table: table, guardFields: guards, boundField: bound,
            shown: isShown
                ? RowSite.Shown(
                    key: ["k"], deciding: ["a", "k", "o"], order: [.init(field: "o", kind: .number)]) : nil,
            isConditional: isConditional, fields: number == 2 ? nil : ["a", "b", "k", "o"],
            fieldsFiltered: number == 2 ? [] : ["a", "b"], namesFields: namesFields)
    }

    private static let values = ["u", "v", "1"]

    private static func hashes(_ random: inout SeededRandom) -> RowHashes {
        RowHashes(values: values.filter { _ in Bool.random(using: &random) })
    }

    /// The rows that a run of a live query reads; nil if they are not known.
    private static func read(_ rules: QueryRules, _ random: inout SeededRandom) -> [RowsRead]? {
        if Int.random(in: 0..<4, using: &random) == 0 { return nil }
        return rules.automatic?.sites.filter(\.form.readsRows).map { site in
            let bound = site.form.boundField == nil ? nil : hashes(&random)
            return RowsRead(
                bound: bound, shown: site.form.shown == nil ? nil : hashes(&random),
                lists: site.form.shown == nil ? [] : lists(bound, &random))
        }
    }

    /// One list, or one for each value of the bound field, some twice.
    private static func lists(_ bound: RowHashes?, _ random: inout SeededRandom) -> [RowsRead.List] {
        let hashes = bound.map { $0.all.map(Optional.some) } ?? [nil]
        return (hashes + hashes.prefix(1)).map { hash in
            RowsRead.List(
                bound: hash, count: Int.random(in: 0..<3, using: &random),
                last: [.int(Int64.random(in: 0..<3, using: &random))])
        }
    }

    private static let sites = [
        site("P", 0, "x", ["a"]), site("P", 1, "y", ["a", "b"], bound: "c"), site("Q", 0, "x", []),
        site("Q", 1, "y", ["b"], bound: "c"), site("Q", 2, "y", ["a", "b", "c"]),
        site("R", 0, "x", ["a"], isShown: true), site("R", 1, "y", [], bound: "c", isShown: true),
        site("S", 0, "x", [], isShown: true, isConditional: true),
        site("S", 2, "y", ["a", "b"], isShown: true, isConditional: true),
        site("S", 3, "z", ["a"], isConditional: true),
        site("T", 0, "x", ["a"], namesFields: true),
        site("T", 2, "y", [], bound: "c", isShown: true, namesFields: true),
        site("T", 3, "z", ["b"], isShown: true, isConditional: true, namesFields: true),
    ]

    private static func value(_ random: inout SeededRandom) -> JSONValue {
        ["u", "v", .int(1), .null].randomElement(using: &random) ?? .null
    }

    private static func named(_ random: inout SeededRandom) -> Set<String> {
        Set(fields.filter { _ in Bool.random(using: &random) })
    }

    private static func rules(_ random: inout SeededRandom) -> QueryRules {
        let operation = ["P", "Q", "R", "S", "T"].randomElement(using: &random) ?? "P"
        let chosen = sites.filter { $0.id.operation.operation == operation }
        let automatic = AutomaticRules(
            sites: chosen.map { site in
                AutomaticRules.Site(
                    form: site,
                    values: site.guardFields.map { _ in
                        let count = Int.random(in: 0..<4, using: &random)
                        let values = (0..<count).map { _ in GuardValue.text(value(&random)) }
                        return count == 0 ? .any : AutomaticRules.Values(values)
                    },
                    entry: Bool.random(using: &random)
                        ? nil
                        : AutomaticRules.Site.Entry(
                            condition: site.isConditional && Bool.random(using: &random) ? condition(&random) : nil,
                            isWhole: Int.random(in: 0..<4, using: &random) > 0,
                            window: site.shown == nil || Bool.random(using: &random)
                                ? nil : ListWindow(limit: 1, isDescending: [Bool.random(using: &random)]),
                            hasOffset: site.shown != nil && Int.random(in: 0..<6, using: &random) == 0,
                            fields: site.namesFields ? named(&random) : nil,
                            deciding: site.namesFields && site.shown != nil ? named(&random) : nil))
            }, mayReadAnything: Int.random(in: 0..<12, using: &random) == 0)
        return QueryRules(triggers: [], lookupKeys: [], everyMs: nil, automatic: automatic, request: .null)
    }

    private static func condition(_ random: inout SeededRandom, depth: Int = 0) -> RowCondition {
        let parts = { (random: inout SeededRandom) in
            (0..<2).map { _ in condition(&random, depth: depth + 1) }
        }
        switch Int.random(in: 0..<(depth < 2 ? 5 : 3), using: &random) {
        case 0: return .compares(RowTest(field: "o", kind: .number, .greater, .int(0)))
        case 1:
            let values = AutomaticRules.Values([GuardValue.text(value(&random))])
            return .isMember(field: "b", values, isNegated: Bool.random(using: &random))
        case 2: return .isNull(field: "c", Bool.random(using: &random))
        case 3: return .all(parts(&random))
        default: return .any(parts(&random))
        }
    }

    private static func image(_ random: inout SeededRandom) -> JSONObject? {
        if Int.random(in: 0..<3, using: &random) == 0 { return nil }
        var image = JSONObject()
        for field in fields where Bool.random(using: &random) { image[field] = value(&random) }
        if image["o"] != nil { image["o"] = .int(Int64.random(in: 0..<3, using: &random)) }
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

    /// A live query whose first run is due is compared when that ends, so it need not be found by what the run tells.
    @Test func findsWhatAskingEachLiveQueryFinds() {
        for seed in 0..<400 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var index = RuleIndex()
            var present: [Int32: QueryRules] = [:]
            for step in 0..<60 as Range<Int32> {
                if Int.random(in: 0..<3, using: &random) > 0 {
                    let rules = Self.rules(&random)
                    index.insert(step, rules: rules)
                    present[step] = rules
                } else if let slot = present.keys.sorted().randomElement(using: &random), let rules = present[slot] {
                    if Int.random(in: 0..<4, using: &random) > 0 {
                        let read = Self.read(rules, &random)
                        let former = rules.automatic?.sites.map(\.rows)
                        let hasChanged = index.bind(slot, read, countMax: 2)
                        _ = present[slot]?.automatic?.bind(read, 2)
                        #expect(hasChanged == (former != present[slot]?.automatic?.sites.map(\.rows)))
                    } else {
                        index.remove(slot)
                        present[slot] = nil
                    }
                }
                let event = Self.event(&random)
                let found = Set(index.match(event).live.map(\.slot))
                for (slot, rules) in present {
                    let isConcerned = RuleIndex.concerns(event, rules: rules)
                    let isAwaited = rules.automatic?.sites.contains { $0.form.readsRows && $0.rows == .awaited } == true
                    #expect(
                        found.contains(slot) == isConcerned || isAwaited && isConcerned, "seed \(seed), step \(step)")
                    let explained = rules.explain(event)
                    #expect(
                        explained.contains(where: \.isMatch) == found.contains(slot),
                        "seed \(seed), step \(step): \(explained)")
                }
                #expect(found.isSubset(of: present.keys))
            }
            for slot in present.keys { index.remove(slot) }
            #expect(leftovers(in: index).isEmpty, "seed \(seed)")
        }
    }
}

/// The meaning of a row change for a live query of a site.
@Suite struct HashedSlotsTests {
    @Test func slotsAreSpreadOverTheTable() {
        var slots = HashedSlots()
        for slot in 0..<1_000 { slots.insert(Int32(slot), UInt32(slot) &* 0x9E37_79B9) }
        let homes = (0..<1_000).map { slots.home(UInt32($0) &* 0x9E37_79B9) }
        #expect(Set(homes).count > 600)
        #expect(slots.home(0) == 0 && slots.home(.max) >= 1_333 - 1)
        for slot in 0..<1_000 {
            var found: [Int32] = []
            slots.forEach(UInt32(slot) &* 0x9E37_79B9) { found.append($0) }
            #expect(found == [Int32(slot)])
            slots.remove(Int32(slot), UInt32(slot) &* 0x9E37_79B9)
        }
        #expect(slots.count == 0)
    }
}

@Suite struct SiteIndexTests {
    private static let form = RowSite(
        id: .init(operation: RefreshFixture.operation("Q"), version: RefreshFixture.version, number: 0), table: "bid",
        guardFields: ["lotId", "open"], fields: ["lotId", "open", "amount"])

    private static func concerns(_ rows: [RowChange]?, _ values: [AutomaticRules.Values] = [.one("1"), .one("true")])
        -> Bool
    {
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
            Self.concerns(
                [RowChange(table: "bid", before: nil, after: ["lotId": 2, "open": true])], [.any, .one("true")]))
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
        func bind(_ values: [String]?, countMax: Int) -> Bool {
            index.bind(7, values.map { [RowsRead(bound: RowHashes(values: $0))] }, countMax: countMax)
        }
        // A result that no run here read.
        #expect(bind(nil, countMax: 10))
        #expect(concerns(nil, ["lotId": 3]))
        #expect(bind(["1", "2"], countMax: 10))
        #expect(concerns(nil, ["lotId": 1]))
        #expect(!concerns(nil, ["lotId": 3]))
        #expect(concerns(["lotId": "2"], ["lotId": 3]))
        #expect(concerns(nil, [:]))
        #expect(!concerns(nil, ["lotId": .null]))
        #expect(!bind(["2", "1"], countMax: 10))
        #expect(bind(["3"], countMax: 10))
        #expect(concerns(nil, ["lotId": 3]))
        #expect(!concerns(nil, ["lotId": 1]))
        // Too many to remember.
        #expect(bind(["1", "2"], countMax: 1))
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
