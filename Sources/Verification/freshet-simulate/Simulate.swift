import ArgumentParser
import Foundation
import Simulation
import SimulationCampaign

/// `make simulate SEEDS=N [SEED=k] [SABOTAGE=name]`
@main struct Simulate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "freshet-simulate",
        abstract: "Runs the whole system in one process under many seeds and checks every promise after every step.")

    @Option(help: "The first seed.") var first: UInt64 = 1
    @Option(help: "How many seeds.") var seeds: UInt64 = 1_000
    @Option(help: "One seed alone.") var seed: UInt64?
    @Option(help: "Seeds at a time; 0: one per core.") var jobs = 0
    @Option(help: "Stop after this many failing seeds.") var failuresMax = 10
    @Option(help: "Make a deliberate mistake, or `all`: how many seeds each takes to be noticed.") var sabotage: String?

    @Flag(help: "Print a line per event of the one seed.") var trace = false

    func run() throws {
        if trace { return try World.trace(seed ?? first, sabotage.flatMap(Sabotage.init)) { print($0) } }
        if let sabotage { return try runSabotage(sabotage) }
        let campaign = Campaign(
            seeds: seed.map { $0...$0 } ?? first...(first + max(1, seeds) - 1), jobs: jobs, failuresMax: failuresMax)
        let report = campaign.run { line in
            FileHandle.standardError.write(Data("\(line)\n".utf8))
        }
        for failure in report.failures {
            print("seed \(failure.seed): \(failure.violation)\n  again: make simulate SEED=\(failure.seed)")
        }
        print(report.summary)
        print(report.faultSummary)
        if !report.failures.isEmpty { throw ExitCode.failure }
    }

    private func runSabotage(_ name: String) throws {
        let chosen = name == "all" ? Sabotage.allCases : Sabotage(rawValue: name).map { [$0] } ?? []
        guard !chosen.isEmpty else {
            throw ValidationError("known: all, \(Sabotage.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        var isAnyUnnoticed = false
        for sabotage in chosen {
            let range = seed.map { $0...$0 } ?? first...(first + max(1, seeds) - 1)
            let noticed = World.firstNoticed(sabotage, seeds: range)
            print("\(sabotage.rawValue): \(noticed.map { "seed \($0.seed): \($0.violation)" } ?? "not noticed")")
            fflush(nil)
            if noticed == nil { isAnyUnnoticed = true }
        }
        if isAnyUnnoticed { throw ExitCode.failure }
    }
}
