import ArgumentParser
import Benchmarks
import Glibc

@main
struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "freshet-bench",
        abstract: "Measures Freshet's performance beside a baseline in the same run.",
        discussion:
            "Requires Postgres (with pgbench) and Redis; starts private ones. Run nothing else on the machine. "
            + "peers is measured only if named; it requires nginx with nchan, and nats-server.")

    enum Part: String, CaseIterable, ExpressibleByArgument {
        case fanout, protocols, idle, rules, compile, sdk, reruns, lookups, latency, log, mutations, neighbours,
            recording, peers

        /// The parts that need only Postgres and Redis.
        static let withoutPeers = allCases.filter { $0 != .peers }
    }

    @Option(help: "Comma-separated: \(Part.allCases.map(\.rawValue).joined(separator: ", ")).")
    var only: String?

    @Flag(help: "Every part, peers included.")
    var all = false

    @Flag(help: "Shorter runs, for a rough idea.")
    var quick = false

    @Option(
        help: "For protocols and idle, comma-separated: \(ClientKind.allCases.map(\.rawValue).joined(separator: ", "))."
    )
    var kinds: String?

    @Option(help: "For protocols, idle and peers: the number of clients of each kind.")
    var sessions: Int?

    @Option(
        help: "For peers, comma-separated: \(PeersBenchmark.Row.allCases.map(\.rawValue).joined(separator: ", ")).")
    var rows: String?

    @Option(help: "Project folder of the auctions sample.")
    var project = "config/auctions"

    private var parts: [Part] {
        get throws {
            guard let only else { return all ? Part.allCases : Part.withoutPeers }
            let named = try only.split(separator: ",").map { name in
                guard let part = Part(rawValue: String(name)) else {
                    throw ValidationError("--only: unknown value \"\(name)\"")
                }
                return part
            }
            // Fan-out forks, so it must run before anything starts threads.
            return Part.allCases.filter(named.contains)
        }
    }

    private var clientKinds: [ClientKind] {
        get throws {
            try kinds?.split(separator: ",").map { name in
                guard let kind = ClientKind(rawValue: String(name)) else {
                    throw ValidationError("--kinds: unknown value \"\(name)\"")
                }
                return kind
            } ?? []
        }
    }

    private var peerRows: [PeersBenchmark.Row] {
        get throws {
            try rows?.split(separator: ",").map { name in
                guard let row = PeersBenchmark.Row(rawValue: String(name)) else {
                    throw ValidationError("--rows: unknown value \"\(name)\"")
                }
                return row
            } ?? []
        }
    }

    func validate() throws {
        _ = try parts
        if all, only != nil { throw ValidationError("--all and --only exclude each other") }
        _ = try peerRows
        _ = try clientKinds
        if let sessions, !(1...15_000).contains(sessions) {
            throw ValidationError("--sessions must be from 1 to 15000")
        }
    }

    func run() async throws {
        // The output is a Markdown document (docs/benchmark-run.md).
        print("# Benchmark run\n\n\(MachineDescription.description)\n")
        var results: [BenchmarkResult] = []
        var failures: [String] = []
        // These fork, too.
        let clients = try ClientGroup()
        let peerClients = try parts.contains(.peers) ? PeerClients() : nil
        for part in try parts {
            print("## \(part.rawValue)\n")
            fflush(nil)
            do {
                results += try await run(part, clients, peerClients)
            } catch {
                failures.append("\(part.rawValue): \(error)")
            }
            print()
        }
        print("## Summary\n")
        print(BenchmarkResult.table(results))
        print("\nLoad average afterwards: \(MachineDescription.loadAverage)")
        for failure in failures { print("failed: \(failure)") }
        fflush(nil)
        if !failures.isEmpty { throw ExitCode.failure }
    }

    private func run(
        _ part: Part, _ clients: ClientGroup, _ peerClients: PeerClients?
    ) async throws -> [BenchmarkResult] {
        switch part {
        case .fanout: try await FanoutBenchmark.results(isQuick: quick)
        case .protocols:
            try await ProtocolsBenchmark.fanout(
                clients, project: project, kinds: clientKinds, sessions: sessions, isQuick: quick)
        case .idle:
            try await ProtocolsBenchmark.idle(
                clients, project: project, kinds: clientKinds, sessions: sessions, isQuick: quick)
        case .rules: try RulesBenchmark.run(isQuick: quick)
        case .compile: try CompileBenchmark.run(isQuick: quick)
        case .sdk: try await SDKBenchmark.run(isQuick: quick)
        case .lookups: try await LookupsBenchmark.run(project: project, isQuick: quick)
        case .reruns: try await RerunsBenchmark.run(project: project, isQuick: quick)
        case .latency: try await LatencyBenchmark.run(project: project, isQuick: quick)
        case .log: try await LogBenchmark.run(project: project, isQuick: quick)
        case .neighbours: try await NeighboursBenchmark.run(project: project, isQuick: quick)
        case .recording: try await RecordingBenchmark.run(clients, project: project, isQuick: quick)
        case .mutations: try await MutationsBenchmark.run(project: project, isQuick: quick)
        case .peers:
            if let peerClients {
                try await PeersBenchmark.run(
                    peerClients, project: project, rows: peerRows, sessions: sessions, isQuick: quick)
            } else {
                []
            }
        }
    }
}
