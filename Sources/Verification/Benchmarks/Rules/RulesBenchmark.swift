import CEL
import JSON
import LiveModel
import Refresh
import SeededRandom

/// Measures matching events against rules and evaluating conditions.
package enum RulesBenchmark {
    private static let matchesPerEvent = 10

    package static func run(isQuick: Bool) throws -> [BenchmarkResult] {
        try [ruleMatching(isQuick: isQuick)] + RowMatching.run(isQuick: isQuick) + [conditionRate(isQuick: isQuick)]
    }

    // MARK: Matching

    /// Measures matching for one operation with an equality condition. Every event matches ten live queries, however
    /// many there are. Both sizes alternate, and each pass uses other events, so that the caches stay realistically
    /// cold.
    private static func ruleMatching(isQuick: Bool) throws -> BenchmarkResult {
        let small = try Workload(liveQueries: 1_000)
        let large = try Workload(liveQueries: 1_000_000)
        let passes = isQuick ? 3 : 9
        let events = isQuick ? 20_000 : 100_000
        var fastest = (small: Double.infinity, large: Double.infinity)
        for pass in 0..<passes {
            fastest.small = min(fastest.small, try small.secondsPerEvent(count: events, seed: UInt64(pass)))
            fastest.large = min(fastest.large, try large.secondsPerEvent(count: events, seed: UInt64(pass)))
        }
        print(
            Text.table([
                ["rule matching, CPU per event with \(matchesPerEvent) matches", "us"],
                ["among 1,000 live queries", Text.fixed(fastest.small * 1e6)],
                ["among 1,000,000 live queries", Text.fixed(fastest.large * 1e6)],
            ]))
        return BenchmarkResult(
            name: "rule matching: 1,000,000 / 1,000 live queries",
            measured: "\(Text.microseconds(fastest.large)) / \(Text.microseconds(fastest.small)) per event",
            ratio: fastest.large / fastest.small, limit: .atMost(BenchmarkLimits.ruleGrowthMax))
    }

    /// An index and its events.
    private struct Workload {
        private let index: RuleIndex
        private let categories: Int
        private let mutation = OperationReference(connector: "auctions", operation: "EditLot")

        init(liveQueries: Int) throws {
            let version = Digest(of: Array("v1".utf8))
            let trigger = Trigger(
                id: .init(
                    operation: OperationReference(connector: "auctions", operation: "ListLots"),
                    version: version, number: 0),
                mutation: mutation,
                condition: try ConditionActivation.environment.compile(
                    "request.variables.category == mutation.variables.category"))
            categories = liveQueries / matchesPerEvent
            var index = RuleIndex()
            for slot in 0..<liveQueries {
                // Live queries of one category differ by their page, like ten subscribers' lists, and are far apart.
                let variables: JSONObject = [
                    "category": .string(Self.category(slot % categories)), "offset": .int(Int64(slot / categories)),
                ]
                index.insert(
                    Int32(slot),
                    rules: QueryRules(
                        triggers: [trigger], lookupKeys: [], everyMs: nil,
                        request: .map(
                            MapValue([("variables", Value(jsonObject: variables)), ("auth", Value(json: .null))]))))
            }
            self.index = index
        }

        private static func category(_ number: Int) -> String { "category-\(number)" }

        /// Creates events in advance, in portions; only matching is timed.
        func secondsPerEvent(count: Int, seed: UInt64) throws -> Double {
            var random = SeededRandom(seed: seed)
            var seconds = 0.0
            let portion = 2_000
            for _ in 0..<(count / portion) {
                let events = (0..<portion).map { _ in
                    event(Self.category(Int(random.next() % UInt64(categories))))
                }
                var found = 0
                let start = Clock.threadSeconds
                for event in events { found += index.match(event).live.count }
                seconds += Clock.threadSeconds - start
                guard found == portion * matchesPerEvent else { throw BenchmarkFailure("\(found) matches") }
            }
            return seconds / Double(count / portion * portion)
        }

        private func event(_ category: String) -> MutationEvent {
            let id = "6f1c5d3e-0000-4000-8000-000000000001"
            return MutationEvent(
                id: id, operation: mutation,
                variables: ["id": .string(id), "category": .string(category), "description": "Fresh from the bench"],
                auth: .null, keysWritten: [EntityKey(table: "lot", values: [.string(id)])], traceID: "t",
                committedAtMs: 1)
        }
    }

    // MARK: Conditions

    private static let condition =
        "request.variables.category == mutation.variables.category && mutation.auth.uid != ''"

    private static func conditionRate(isQuick: Bool) throws -> BenchmarkResult {
        let program = try ConditionActivation.environment.compile(condition)
        // Half of the conditions hold.
        let activations = (0..<64).map { number in
            ConditionActivation(
                request: side(category: "category-\(number / 2)", uid: "subscriber-\(number)"),
                mutation: side(category: "category-\(number / 2 + number % 2)", uid: "writer-\(number)"))
        }
        var best = 0.0
        for _ in 0..<(isQuick ? 3 : 8) {
            let rounds = 4_000
            var holding = 0
            let start = Clock.threadSeconds
            for _ in 0..<rounds {
                for activation in activations {
                    if case .bool(true) = try program.evaluate(activation) { holding += 1 }
                }
            }
            let seconds = Clock.threadSeconds - start
            guard holding == rounds * activations.count / 2 else { throw BenchmarkFailure("\(holding) hold") }
            best = max(best, Double(rounds * activations.count) / seconds)
        }
        print("condition `\(condition)`: \(Text.grouped(Int(best))) evaluations per CPU second")
        return BenchmarkResult(
            name: "conditions per CPU second / \(Text.grouped(Int(BenchmarkLimits.conditionsPerCPUSecondMin)))",
            measured: Text.rate(best), ratio: best / BenchmarkLimits.conditionsPerCPUSecondMin, limit: .atLeast(1))
    }

    private static func side(category: String, uid: String) -> Value {
        let variables: JSONObject = ["id": "6f1c5d3e-0000-4000-8000-000000000001", "category": .string(category)]
        return .map(
            MapValue([
                ("variables", Value(jsonObject: variables)),
                ("auth", Value(jsonObject: ["uid": .string(uid), "token": ["sub": .string(uid)]])),
            ]))
    }
}
