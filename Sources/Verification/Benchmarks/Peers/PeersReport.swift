import CBroadcaster

/// Tables and ratios of the comparison with peers. A cell is the median of the passes.
enum PeersReport {
    /// Returns the median of the ratios of each pass, in which both were measured one soon after the other.
    static func ratio<Pass>(
        _ name: String, _ passes: [Contender: [Pass]], _ contender: Contender, _ other: Contender,
        _ value: (Pass) -> Double, _ unit: String, _ limit: BenchmarkResult.Limit
    ) -> BenchmarkResult {
        let (own, others) = (passes[contender, default: []].map(value), passes[other, default: []].map(value))
        var ratios = Samples()
        for (own, other) in zip(own, others) { ratios.add(own / other) }
        let decimals = unit == "/s" ? 0 : 2
        return BenchmarkResult(
            name: name,
            measured: "\(Text.fixed(median(own), decimals: decimals)) / "
                + "\(Text.fixed(median(others), decimals: decimals)) \(unit)",
            ratio: ratios.median, limit: limit)
    }

    static func table(
        _ title: String, _ contenders: [Contender], _ passes: [Contender: [FanoutComparison.Pass]]
    ) -> String {
        let heading = [
            title, "CPU s per million", "deliveries", "others' CPU s per million", "refused", "repeated",
            "median at \(Text.fixed(FanoutComparison.changesPerSecond, decimals: 0)) changes/s", "p99",
            "until the response", "connected in", "foreign cores",
        ]
        let rows = contenders.map { contender -> [String] in
            let found = passes[contender, default: []]
            func time(_ value: (cb_received) -> Double) -> String {
                let times = found.compactMap { $0.latency.map(value) }
                return times.isEmpty ? "-" : Text.milliseconds(median(times))
            }
            let publishing = found.filter { !$0.publishing.values.isEmpty }.map(\.publishing.median)
            return [
                contender.rawValue, Text.fixed(median(found.map(\.cpuSecondsPerMillion))),
                Text.rate(median(found.map(\.deliveriesPerSecond))),
                helpers(found.map { ($0.cpu, $0.deliveries) }),
                sum(found) { Int($0.received.refused) + $0.refusedConnecting },
                sum(found) { Int($0.received.repeated) }, time(\.median), time(\.p99),
                publishing.isEmpty ? "-" : Text.milliseconds(median(publishing)),
                Text.fixed(median(found.map(\.connectSeconds)), decimals: 1) + " s",
                Text.fixed(median(found.map(\.cpu.foreignCores))),
            ]
        }
        return Text.table([heading] + rows)
    }

    static func table(
        _ contenders: [Contender], _ passes: [Contender: [ManyQueriesComparison.Pass]], queries: Int
    ) -> String {
        let heading = [
            "\(Text.grouped(queries)) results × \(ManyQueriesComparison.sessionsOfEach) clients", "deliveries",
            "CPU s per million", "others' CPU s per million", "mutations or publications", "refused",
            "foreign cores", "Redis commands for each",
        ]
        let rows = contenders.map { contender -> [String] in
            let found = passes[contender, default: []]
            let commands = found.last?.redisCommands ?? []
            let total = commands.reduce(0) { $0 + $1.perPublication }
            let names = commands.prefix(6).map { "\($0.name) \(Text.fixed($0.perPublication))" }
            return [
                contender.rawValue, Text.rate(median(found.map(\.deliveriesPerSecond))),
                Text.fixed(median(found.map(\.cpuSecondsPerMillion))),
                helpers(found.map { ($0.cpu, Int($0.received.deliveries)) }),
                Text.rate(median(found.map(\.publishedPerSecond))), sum(found, \.refused),
                Text.fixed(median(found.map(\.cpu.foreignCores))),
                "\(Text.fixed(total)): \(names.joined(separator: ", "))",
            ]
        }
        return Text.table([heading] + rows)
    }

    /// Returns the CPU time for a delivery of each server that the contender uses.
    private static func helpers(_ passes: [(cpu: PeerCPU, deliveries: Int)]) -> String {
        guard let names = passes.first?.cpu.helpers.map(\.name), !names.isEmpty else { return "-" }
        return names.indices.map { index in
            let values = passes.map { $0.cpu.helpers[index].seconds * 1e6 / Double($0.deliveries) }
            return "\(names[index]) \(Text.fixed(median(values)))"
        }.joined(separator: ", ")
    }

    private static func sum<Pass>(_ passes: [Pass], _ value: (Pass) -> Int) -> String {
        Text.grouped(passes.reduce(0) { $0 + value($1) })
    }

    private static func median(_ values: [Double]) -> Double {
        var samples = Samples()
        for value in values { samples.add(value) }
        return samples.median
    }
}
