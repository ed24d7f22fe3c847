import ArgumentParser
import Benchmarks
import Glibc

@main
struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "freshet-bench",
        abstract: "Measures what Freshet costs, each time beside something bare in the same run.",
        discussion:
            "Needs Postgres (with pgbench) and Redis installed; private ones are started. Nothing else should run.")

    enum Part: String, CaseIterable, ExpressibleByArgument {
        case fanout, protocols, idle, rules, compile, reruns, lookups, latency, mutations
    }

    @Option(help: "Comma-separated: \(Part.allCases.map(\.rawValue).joined(separator: ", ")).")
    var only: String?

    @Flag(help: "Shorter runs, for a first look.")
    var quick = false

    @Option(
        help: "Of protocols and idle, comma-separated: \(ClientKind.allCases.map(\.rawValue).joined(separator: ", ")).")
    var kinds: String?

    @Option(help: "Of protocols and idle: clients of each kind.")
    var sessions: Int?

    @Option(help: "Project folder of the auctions sample.")
    var project = "config/auctions"

    private var parts: [Part] {
        get throws {
            guard let only else { return Part.allCases }
            let named = try only.split(separator: ",").map { name in
                guard let part = Part(rawValue: String(name)) else {
                    throw ValidationError("--only: there is no \"\(name)\"")
                }
                return part
            }
            // Fan-out forks: it comes before anything has started threads.
            return Part.allCases.filter(named.contains)
        }
    }

    private var clientKinds: [ClientKind] {
        get throws {
            try kinds?.split(separator: ",").map { name in
                guard let kind = ClientKind(rawValue: String(name)) else {
                    throw ValidationError("--kinds: there is no \"\(name)\"")
                }
                return kind
            } ?? []
        }
    }

    func validate() throws {
        _ = try parts
        _ = try clientKinds
        if let sessions, !(1...15_000).contains(sessions) { throw ValidationError("--sessions: 1 to 15000") }
    }

    func run() async throws {
        print(MachineDescription.description, terminator: "\n\n")
        var bars: [Bar] = []
        var failures: [String] = []
        // Forks as well.
        let crowd = try ClientGroup()
        for part in try parts {
            fflush(nil)
            do {
                bars += try await run(part, crowd)
            } catch {
                failures.append("\(part.rawValue): \(error)")
            }
            print()
        }
        print(Bar.table(bars))
        print("load average: \(MachineDescription.loadAverage)")
        for failure in failures { print("failed: \(failure)") }
        fflush(nil)
        if !failures.isEmpty { throw ExitCode.failure }
    }

    private func run(_ part: Part, _ crowd: ClientGroup) async throws -> [Bar] {
        switch part {
        case .fanout: try await FanoutBenchmark.bars(isQuick: quick)
        case .protocols:
            try await ProtocolsBenchmark.fanout(
                crowd, project: project, kinds: clientKinds, sessions: sessions, isQuick: quick)
        case .idle:
            try await ProtocolsBenchmark.idle(
                crowd, project: project, kinds: clientKinds, sessions: sessions, isQuick: quick)
        case .rules: try RulesBenchmark.run(isQuick: quick)
        case .compile: try CompileBenchmark.run(isQuick: quick)
        case .lookups: try await LookupsBenchmark.run(project: project, isQuick: quick)
        case .reruns: try await RerunsBenchmark.run(project: project, isQuick: quick)
        case .latency: try await LatencyBenchmark.run(project: project, isQuick: quick)
        case .mutations: try await MutationsBenchmark.run(project: project, isQuick: quick)
        }
    }
}
