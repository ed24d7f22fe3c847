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
        print(
            Text.table([
                ["changes of rows, CPU per event with \(matchesPerEvent) matches, decoding included", "us"],
                ["among 1,000 live queries", Text.fixed(fastest.small * 1e6)],
                ["among 1,000,000 live queries", Text.fixed(fastest.large * 1e6)],
            ]))
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
        ]
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

        private static func event(_ category: String) -> MutationEvent {
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
