extension FanoutBenchmark {
    /// Runs and judges. Call it from `main`, before anything has started threads (it forks).
    package static func bars(isQuick: Bool) async throws -> [Bar] {
        let rows = try await run(sessions: isQuick ? 1_000 : 5_000, rounds: isQuick ? 20 : 30, passes: isQuick ? 1 : 7)
        guard let bare = rows.first(where: { $0.name == Mode.bareC.rawValue }) else { return [] }
        let against = Mode.allCases.filter { $0 == .sharedFrame || $0 == .enveloped || $0 == .gathered }
        var bars = against.compactMap { mode in
            rows.first { $0.name == mode.rawValue }.map { row in
                Bar(
                    name: "fan-out CPU: \(mode.rawValue) / bare C",
                    measured:
                        "\(Text.fixed(row.cpuSecondsPerMillion)) / \(Text.fixed(bare.cpuSecondsPerMillion)) s per million",
                    ratio: row.cpuSecondsPerMillion / bare.cpuSecondsPerMillion,
                    limit: mode == .enveloped ? .atMost(Bars.fanoutCPUMax) : .none)
            }
        }
        let idle = rows.compactMap(\.idleKiBPerConnection).max() ?? 0
        bars.append(
            Bar(
                name: "idle subscribed connection / \(Text.fixed(Bars.idleConnectionKiBMax, decimals: 0)) KiB",
                measured: "\(Text.fixed(idle)) KiB", ratio: idle / Bars.idleConnectionKiBMax, limit: .atMost(1)))
        return bars
    }
}
