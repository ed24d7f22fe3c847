internal import ArgumentParser
internal import Benchmarks
internal import Glibc

@main
struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "freshet-bench",
        abstract: "Measures what Freshet costs, each time beside something bare in the same run.",
        discussion:
            "Needs Postgres (with pgbench) and Redis installed; private ones are started. Nothing else should run.")

    enum Part: String, CaseIterable, ExpressibleByArgument {
        case fanout, rules, compile, reruns, lookups, latency, mutations
    }

    @Option(help: "Comma-separated: \(Part.allCases.map(\.rawValue).joined(separator: ", ")).")
    var only: String?

    @Flag(help: "Shorter runs, for a first look.")
    var quick = false

    @Option(help: "Project folder of the movies sample.")
    var project = "config/movies"

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

    func validate() throws {
        _ = try parts
    }

    func run() async throws {
        print(Machine.description, terminator: "\n\n")
        var bars: [Bar] = []
        var failures: [String] = []
        for part in try parts {
            fflush(nil)
            do {
                bars += try await run(part)
            } catch {
                failures.append("\(part.rawValue): \(error)")
            }
            print()
        }
        print(Bar.table(bars))
        print("load average: \(Machine.loadAverage)")
        for failure in failures { print("failed: \(failure)") }
        fflush(nil)
        if !failures.isEmpty { throw ExitCode.failure }
    }

    private func run(_ part: Part) async throws -> [Bar] {
        switch part {
        case .fanout: try await FanoutBenchmark.bars(isQuick: quick)
        case .rules: try RulesBenchmark.run(isQuick: quick)
        case .compile: try CompileBenchmark.run(isQuick: quick)
        case .lookups: try await LookupsBenchmark.run(project: project, isQuick: quick)
        case .reruns: try await RerunsBenchmark.run(project: project, isQuick: quick)
        case .latency: try await LatencyBenchmark.run(project: project, isQuick: quick)
        case .mutations: try await MutationsBenchmark.run(project: project, isQuick: quick)
        }
    }
}
