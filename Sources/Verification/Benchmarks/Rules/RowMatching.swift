import CBroadcaster
import CEL
import JSON
import LiveModel
import Refresh
import SeededRandom

/// Measures matching changes of rows against live queries of a list with automatic refresh, from the bytes of an event
/// as a worker reads them.
enum RowMatching {
    private static let matchesPerEvent = 10

    static func run(isQuick: Bool) throws -> [BenchmarkResult] {
        let passes = isQuick ? 3 : 9
        let events = isQuick ? 20_000 : 100_000
        let small = Workload(groups: 100, perGroup: matchesPerEvent)
        let large = Workload(groups: 100_000, perGroup: matchesPerEvent)
        let single = Workload(groups: 10_000, perGroup: 1)
        var fastest = (small: Double.infinity, large: Double.infinity)
        var rates = (matched: 0.0, ignored: 0.0)
        for pass in 0..<passes {
            let seed = UInt64(pass)
            fastest.small = min(fastest.small, try small.secondsPerEvent(count: events, seed: seed))
            fastest.large = min(fastest.large, try large.secondsPerEvent(count: events, seed: seed))
            rates.matched = max(rates.matched, 1 / (try single.secondsPerEvent(count: events, seed: seed)))
            rates.ignored = max(
                rates.ignored, 1 / (try single.secondsPerEvent(count: events, seed: seed, isWatched: false)))
        }
        let shown = try showing(events: events)
        print(
            Text.table([
                ["changes of rows, CPU per event with \(matchesPerEvent) matches, decoding included", "us"],
                ["among 1,000 live queries", Text.fixed(fastest.small * 1e6)],
                ["among 1,000,000 live queries", Text.fixed(fastest.large * 1e6)],
                ["of a row that 10 of 100,000 lists of 10 rows show", Text.fixed(shown.seconds * 1e6)],
                ["of a row that none of them shows, in the groups of 10", Text.fixed(shown.otherSeconds * 1e6)],
            ]))
        print(
            "memory of a site: \(Int(shown.siteBytes)) B a live query, \(Int(shown.rowBytes)) B a row that it shows;"
                + " of the rules of a live query beside it \(Int(shown.rulesBytes)) B")
        return [
            BenchmarkResult(
                name: "changes of rows: 1,000,000 / 1,000 live queries",
                measured: "\(Text.microseconds(fastest.large)) / \(Text.microseconds(fastest.small)) per event",
                ratio: fastest.large / fastest.small, limit: .atMost(BenchmarkLimits.ruleGrowthMax)),
            BenchmarkResult(
                name: "matched changes per CPU second / \(Text.grouped(Int(BenchmarkLimits.rowsMatchedMin)))",
                measured: Text.rate(rates.matched), ratio: rates.matched / BenchmarkLimits.rowsMatchedMin,
                limit: .atLeast(1)),
            BenchmarkResult(
                name: "ignored changes per CPU second / \(Text.grouped(Int(BenchmarkLimits.rowsIgnoredMin)))",
                measured: Text.rate(rates.ignored), ratio: rates.ignored / BenchmarkLimits.rowsIgnoredMin,
                limit: .atLeast(1)),
            BenchmarkResult(
                name: "memory of a site per live query / \(Int(BenchmarkLimits.siteBytesMax)) B",
                measured: "\(Int(shown.siteBytes)) B", ratio: shown.siteBytes / BenchmarkLimits.siteBytesMax,
                limit: .atMost(1)),
            BenchmarkResult(
                name: "memory of a shown row / \(Int(BenchmarkLimits.shownRowBytesMax)) B",
                measured: "\(Int(shown.rowBytes)) B", ratio: shown.rowBytes / BenchmarkLimits.shownRowBytesMax,
                limit: .atMost(1)),
        ]
    }

    // MARK: Lists that show rows

    private struct Shown {
        var seconds = Double.infinity
        var otherSeconds = Double.infinity
        var siteBytes = 0.0
        var rowBytes = 0.0
        var rulesBytes = 0.0
    }

    /// Measures lists with a limit, `lots(where: {category: …}, orderBy: [{closesAt: ASC}], limit: 10)`, in groups of
    /// ten with the same rows.
    private static func showing(events count: Int) throws -> Shown {
        let (lists, perGroup, rows) = (100_000, 10, 10)
        let form = RowSite(
            id: .init(
                operation: OperationReference(connector: "auctions", operation: "ListLots"),
                version: Digest(of: Array("v1".utf8)), number: 0),
            table: "lot", guardFields: ["category"],
            shown: .init(
                key: ["id"], deciding: ["category", "closesAt", "id"],
                order: [.init(field: "closesAt", kind: .timestamp)]), fields: nil)
        let entry = AutomaticRules.Site.Entry(window: ListWindow(limit: rows, isDescending: [false]))
        func rules(_ slot: Int, hasSite: Bool) -> QueryRules {
            let site = AutomaticRules.Site(
                form: form, values: [.one("category-\(slot / perGroup)")], entry: entry)
            return QueryRules(
                triggers: [], lookupKeys: [], everyMs: nil,
                automatic: AutomaticRules(sites: hasSite ? [site] : [], mayReadAnything: false), request: .null)
        }
        var shown = Shown()
        var bare = RuleIndex()
        shown.rulesBytes = allocated(per: lists) {
            for slot in 0..<lists { bare.insert(Int32(slot), rules: rules(slot, hasSite: false)) }
        }
        bare = RuleIndex()
        var index = RuleIndex()
        func id(_ group: Int, _ row: Int) -> String { "lot-\(group)-\(row)" }
        shown.siteBytes =
            allocated(per: lists) {
                for slot in 0..<lists { index.insert(Int32(slot), rules: rules(slot, hasSite: true)) }
            } - shown.rulesBytes
        shown.rowBytes = allocated(per: lists * rows) {
            for slot in 0..<lists {
                let keys = RowHashes(values: (0..<rows).map { id(slot / perGroup, $0) })
                let list = RowsRead.List(count: rows, last: ["2026-01-31T12:00:00.000000Z"])
                _ = index.bind(Int32(slot), [RowsRead(shown: keys, lists: [list])], countMax: 1_000)
            }
        }
        func seconds(_ row: Int, found: Int) throws -> Double {
            let events = (0..<count / 10).map { number -> [UInt8] in
                let group = number * 7_919 % (lists / perGroup)
                let image: JSONObject = [
                    "id": .string(id(group, row)), "category": .string("category-\(group)"),
                    "closesAt": "2026-02-01T00:00:00.000000Z",
                ]
                var event = Workload.event("")
                event.rows = RowChanges([
                    RowChange(table: "lot", before: image, after: image, changed: ["closesAt"])
                ])
                return event.encoded
            }
            let start = Clock.threadSeconds
            var matches = 0
            for event in events { matches += index.match(try MutationEvent(encoded: event)).live.count }
            guard matches == events.count * found else { throw BenchmarkFailure("\(matches) matches") }
            return (Clock.threadSeconds - start) / Double(events.count)
        }
        for _ in 0..<3 {
            shown.seconds = min(shown.seconds, try seconds(3, found: perGroup))
            shown.otherSeconds = min(shown.otherSeconds, try seconds(rows, found: 0))
        }
        return shown
    }

    /// Returns the bytes that the body leaves allocated.
    private static func allocated(per count: Int, _ body: () -> Void) -> Double {
        let before = cb_own_allocated_bytes()
        body()
        return Double(Int(cb_own_allocated_bytes()) - Int(before)) / Double(count)
    }

    /// Live queries of groups: `lots(where: {category: {eq: $category}})`.
    private struct Workload {
        private let index: RuleIndex
        private let groups: Int
        private let perGroup: Int

        init(groups: Int, perGroup: Int) {
            (self.groups, self.perGroup) = (groups, perGroup)
            let site = RowSite(
                id: .init(
                    operation: OperationReference(connector: "auctions", operation: "ListLots"),
                    version: Digest(of: Array("v1".utf8)), number: 0),
                table: "lot", guardFields: ["category"], fields: nil)
            var index = RuleIndex()
            for slot in 0..<(groups * perGroup) {
                // Those of one group are far apart.
                index.insert(
                    Int32(slot),
                    rules: QueryRules(
                        triggers: [], lookupKeys: [], everyMs: nil,
                        automatic: AutomaticRules(
                            sites: [.init(form: site, values: [.one("category-\(slot % groups)")])],
                            mayReadAnything: false),
                        request: .null))
            }
            self.index = index
        }

        /// - Parameter isWatched: whether live queries of the rows' groups exist.
        func secondsPerEvent(count: Int, seed: UInt64, isWatched: Bool = true) throws -> Double {
            var random = SeededRandom(seed: seed)
            var seconds = 0.0
            let portion = 2_000
            for _ in 0..<(count / portion) {
                let events = (0..<portion).map { _ in
                    let group = Int(random.next() % UInt64(groups))
                    return Self.event(isWatched ? "category-\(group)" : "other-\(group)").encoded
                }
                var found = 0
                let start = Clock.threadSeconds
                for event in events { found += index.match(try MutationEvent(encoded: event)).live.count }
                seconds += Clock.threadSeconds - start
                guard found == (isWatched ? portion * perGroup : 0) else { throw BenchmarkFailure("\(found) matches") }
            }
            return seconds / Double(count / portion * portion)
        }

        static func event(_ category: String) -> MutationEvent {
            let id = "6f1c5d3e000040008000000000000001"
            let row: JSONObject = ["id": .string(id), "category": .string(category)]
            return MutationEvent(
                id: "6f1c5d3e-0000-4000-8000-000000000001",
                operation: OperationReference(connector: "auctions", operation: "EditLot"),
                variables: ["id": .string(id), "description": "Fresh from the bench"], auth: .null, keysWritten: [],
                rows: RowChanges([RowChange(table: "lot", before: row, after: row, changed: ["description"])]),
                traceID: "t", committedAtMs: 1)
        }
    }
}
