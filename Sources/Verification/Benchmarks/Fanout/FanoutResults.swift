extension FanoutBenchmark {
    /// Runs the benchmark and compares with its limits. Call from `main` before anything starts threads, because it
    /// forks.
    package static func results(isQuick: Bool) async throws -> [BenchmarkResult] {
        let rows = try await run(sessions: isQuick ? 1_000 : 5_000, rounds: isQuick ? 20 : 30, passes: isQuick ? 1 : 7)
        guard let bare = rows.first(where: { $0.name == Mode.bareC.rawValue }) else { return [] }
        let against = Mode.allCases.filter { $0 == .sharedFrame || $0 == .enveloped || $0 == .gathered }
        var results = against.compactMap { mode in
            rows.first { $0.name == mode.rawValue }.map { row in
                let (ours, theirs) = (row.cpuSecondsPerMillion, bare.cpuSecondsPerMillion)
                return BenchmarkResult(
                    name: "fan-out CPU: \(mode.rawValue) / bare C",
                    measured: "\(Text.fixed(ours)) / \(Text.fixed(theirs)) s per million",
                    ratio: ours / theirs,
                    limit: mode == .enveloped ? .atMost(BenchmarkLimits.fanoutCPUMax) : .none)
            }
        }
        let idle = rows.compactMap(\.idleKiBPerConnection).max() ?? 0
        results.append(
            BenchmarkResult(
                name:
                    "idle subscribed connection / \(Text.fixed(BenchmarkLimits.idleConnectionKiBMax, decimals: 0)) KiB",
                measured: "\(Text.fixed(idle)) KiB", ratio: idle / BenchmarkLimits.idleConnectionKiBMax,
                limit: .atMost(1)))
        return results
    }
}
