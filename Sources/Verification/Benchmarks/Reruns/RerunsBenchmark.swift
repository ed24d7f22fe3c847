import Catalog
import CBenchmarks
import Execution
import JSON
import LiveModel
import LocalServers
import Postgres
import QuerySQL
import Refresh

/// Measures re-running 1,000 due live queries of one primary-key lookup: as workers do it, without multiplexing, and in
/// a bare C loop. All on one connection.
package enum RerunsBenchmark {
    private static let dueCount = 1_000

    package static func run(project: String, isQuick: Bool) async throws -> [BenchmarkResult] {
        try await PrivateServers.with(project: project) { servers in
            try await servers.withPool { pool in
                let plan = try await Plan(servers, pool)
                return try await plan.run(passes: isQuick ? 5 : 25, rounds: isQuick ? 5 : 10)
            }
        }
    }

    /// The cost of running all due live queries once.
    private struct Cost: Sendable {
        var seconds: Double
        /// CPU time of this process.
        var cpuSeconds: Double

        static let none = Cost(seconds: .infinity, cpuSeconds: .infinity)
    }

    private enum Mode: String, CaseIterable {
        case multiplexed = "multiplexed, results travel"
        case bareMultiplexed = "  bare C, the same statements"
        case unchanged = "multiplexed, unchanged results stay"
        case bareUnchanged = "  bare C, the same with digests"
        case pipelined = "one statement each, pipelined"
        case oneAtATime = "one statement each, one at a time"
        case bareOneAtATime = "  bare C, one at a time"

        var isBare: Bool {
            switch self {
            case .bareMultiplexed, .bareUnchanged, .bareOneAtATime: true
            case .multiplexed, .unchanged, .pipelined, .oneAtATime: false
            }
        }
    }

    private struct Plan {
        let address: String
        let executor: QueryExecutor
        let operation: StoredOperation
        /// The items without and with known digests.
        let fresh: [QueryExecutor.Item]
        let known: [QueryExecutor.Item]
        let calls: [QueryCall]
        let batchMax = RefreshSettings().batchMax

        init(_ servers: PrivateServers, _ pool: PostgresPool) async throws {
            address = servers.postgres.connectionString
            executor = QueryExecutor(pool: pool, clock: .system())
            operation = try servers.operation("GetLot")
            var fresh: [QueryExecutor.Item] = []
            var known: [QueryExecutor.Item] = []
            var calls: [QueryCall] = []
            for id in try await servers.lotIDs(pool, dueCount) {
                let variables = try operation.coerce(["id": .string(id)])
                let result = try await executor.run(operation, variables: variables, auth: nil)
                fresh.append(.init(variables: variables, auth: nil, knownDigest: nil))
                known.append(.init(variables: variables, auth: nil, knownDigest: result.digest))
                calls.append(try operation.queryCall(variables: variables, auth: nil, nowMs: 0))
            }
            (self.fresh, self.known, self.calls) = (fresh, known, calls)
        }

        func run(passes: Int, rounds: Int) async throws -> [BenchmarkResult] {
            var best: [Mode: Cost] = [:]
            for _ in 0..<passes {
                for way in Mode.allCases {
                    let cost = try await measure(way, rounds: rounds)
                    if cost.seconds < (best[way] ?? .none).seconds { best[way] = cost }
                }
            }
            report(best)
            func seconds(_ mode: Mode) -> Double { (best[mode] ?? .none).seconds }
            func ratio(_ upper: Mode, _ lower: Mode) -> Double {
                seconds(upper) / seconds(lower)
            }
            func pair(_ left: Mode, _ right: Mode) -> String {
                "\(Text.milliseconds(seconds(left))) / \(Text.milliseconds(seconds(right)))"
            }
            return [
                BenchmarkResult(
                    name: "1,000 re-runs: one statement each, one at a time / multiplexed",
                    measured: pair(.oneAtATime, .multiplexed), ratio: ratio(.oneAtATime, .multiplexed),
                    limit: .atLeast(BenchmarkLimits.multiplexedGainMin)),
                BenchmarkResult(
                    name: "1,000 re-runs: one statement each, pipelined / multiplexed",
                    measured: pair(.pipelined, .multiplexed), ratio: ratio(.pipelined, .multiplexed), limit: .none),
                BenchmarkResult(
                    name: "1,000 re-runs: multiplexed / bare C loop, same statements",
                    measured: pair(.multiplexed, .bareMultiplexed), ratio: ratio(.multiplexed, .bareMultiplexed),
                    limit: .atMost(BenchmarkLimits.multiplexedOverBareMax)),
                BenchmarkResult(
                    name: "1,000 re-runs, all unchanged: multiplexed / bare C loop",
                    measured: pair(.unchanged, .bareUnchanged), ratio: ratio(.unchanged, .bareUnchanged),
                    limit: .atMost(BenchmarkLimits.multiplexedOverBareMax)),
            ]
        }

        private func report(_ best: [Mode: Cost]) {
            let rows = Mode.allCases.map { way in
                let cost = best[way] ?? .none
                return [
                    way.rawValue, Text.milliseconds(cost.seconds), Text.rate(Double(dueCount) / cost.seconds),
                    Text.microseconds(cost.cpuSeconds / Double(dueCount)),
                ]
            }
            print(
                Text.table(
                    [["1,000 due live queries, one connection", "time", "live queries", "own CPU each"]] + rows))
            print("statements of \(batchMax) live queries at most; Postgres' own CPU is not in the last column")
        }

        private func measure(_ way: Mode, rounds: Int) async throws -> Cost {
            if way.isBare { return try await bare(way, rounds: rounds) }
            let start = (Clock.now, Clock.processSeconds)
            for _ in 0..<rounds {
                switch way {
                case .multiplexed: try await multiplexed(fresh, expectsBodies: true)
                case .unchanged: try await multiplexed(known, expectsBodies: false)
                case .pipelined: try await pipelined()
                case .oneAtATime: for item in fresh { keep(try await single(item)) }
                case .bareMultiplexed, .bareUnchanged, .bareOneAtATime: break
                }
            }
            return Cost(
                seconds: (Clock.now - start.0) / Double(rounds),
                cpuSeconds: (Clock.processSeconds - start.1) / Double(rounds))
        }

        private func single(_ item: QueryExecutor.Item) async throws -> QueryExecutor.Result {
            try await executor.run(operation, variables: item.variables, auth: nil)
        }

        /// Runs all in flight at once, the best that a worker without multiplexing could do.
        private func pipelined() async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for item in fresh { group.addTask { keep(try await single(item)) } }
                try await group.waitForAll()
            }
        }

        private func batches(_ items: [QueryExecutor.Item]) -> [ArraySlice<QueryExecutor.Item>] {
            stride(from: 0, to: items.count, by: batchMax).map { items[$0..<min($0 + batchMax, items.count)] }
        }

        private func multiplexed(_ items: [QueryExecutor.Item], expectsBodies: Bool) async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for batch in batches(items) {
                    group.addTask {
                        for outcome in await executor.run(operation, items: Array(batch)) {
                            switch outcome {
                            case .result where expectsBodies, .unchanged where !expectsBodies: continue
                            case .result, .unchanged, .cutShort: throw BenchmarkFailure("a digest does not hold")
                            case .failed(let error): throw error
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }

        private func bare(_ way: Mode, rounds: Int) async throws -> Cost {
            guard let statement = calls.first?.statement else { throw BenchmarkFailure("nothing is due") }
            let width = statement.parameterTypes.count
            var sql = statement.multiplexed
            var count = width + 1
            var values: [String?] = []
            if case .bareOneAtATime = way {
                (sql, count) = (statement.single, width)
                values = calls.flatMap(\.parameters)
            } else {
                for start in stride(from: 0, to: calls.count, by: batchMax) {
                    let range = start..<min(start + batchMax, calls.count)
                    for position in 0..<width {
                        values.append(PostgresArray.literal(calls[range].map { $0.parameters[position] }))
                    }
                    let digests = known[range].map { way == .bareUnchanged ? $0.knownDigest?.hex : nil }
                    values.append(PostgresArray.literal(digests))
                }
            }
            let (address, sets) = (address, values.count / count)
            let outcome = await onThread { [sql, values, count] in Self.loop(address, sql, values, count, sets, rounds)
            }
            let loop = try outcome.get()
            guard way != .bareUnchanged || loop.bytes < loop.rows * 80 else {
                throw BenchmarkFailure("a digest does not hold")
            }
            return Cost(seconds: loop.seconds / Double(rounds), cpuSeconds: Double(loop.cpu_us) / 1e6 / Double(rounds))
        }

        private static func loop(
            _ address: String, _ sql: String, _ values: [String?], _ count: Int, _ sets: Int, _ rounds: Int
        ) -> Result<cbench_pq_outcome, BenchmarkFailure> {
            let texts = CTexts(values)
            var outcome = cbench_pq_outcome()
            var message = [CChar](repeating: 0, count: 512)
            let status = cbench_pq_loop(
                address, sql, texts.pointers, UInt32(count), UInt32(sets), UInt32(rounds), &outcome, &message,
                message.count)
            if status == 0 { return .success(outcome) }
            let bytes = message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            return .failure(BenchmarkFailure("bare loop: " + String(decoding: bytes, as: UTF8.self)))
        }
    }
}
