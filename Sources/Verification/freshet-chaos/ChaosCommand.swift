import ArgumentParser
import Chaos
import Foundation
import LiveModel

extension OutboxKind: ExpressibleByArgument {}

@main
struct ChaosCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "freshet-chaos",
        abstract: "Injects faults into a cluster under load and verifies the guarantees.",
        discussion: """
            Starts 2 API nodes, 3 workers, 2 gateways, HAProxy, and a private Postgres and Redis. After each round of \
            faults every subscriber must have the current result, every acknowledged mutation must be in the database, \
            and no session may have received an older result. Logs are in --folder, copies for each miss below misses. \
            Exit codes: 0 no miss, 1 a miss, 2 the run could not start.
            """)

    @Option(help: "Length of the run; the current round is finished.")
    var minutes = 5.0

    @Option(help: "Seed of the faults; random by default.")
    var seed: UInt64?

    @Option(help: "Subscribers, over WebSockets, event streams and long-polls.")
    var subscribers = 300

    @Option(help: "Mutations per second.")
    var rate = 40.0

    @Option(help: ArgumentHelp("Time after which a subscriber with a wrong result is a miss.", valueName: "seconds"))
    var settle = 60

    @Option(help: "Data, settings and logs; emptied at the start.")
    var folder = ".freshet/chaos"

    @Option(help: "Project folder with the operations.")
    var project = "config/chaos"

    @Option(help: "The program under test; by default the one beside this.")
    var freshet: String?

    @Option(help: ArgumentHelp("Only faults of this kind, one at a time; repeat it for several.", valueName: "kind"))
    var only: [String] = []

    @Flag(
        help: """
            Also write rows without the service, once for each mutation; all queries then refresh by the database's log.
            """)
    var outside = false

    @Option(help: ArgumentHelp("Where mutations leave their events: table or wal.", valueName: "kind"))
    var outbox = OutboxKind.table

    @Flag(help: "Print the report as JSON; the text goes to standard error.")
    var json = false

    func validate() throws {
        if let unknown = only.first(where: { !ChaosRun.kinds.contains($0) }) {
            throw ValidationError(
                "--only: unknown value \"\(unknown)\"; known values: \(ChaosRun.kinds.sorted().joined(separator: ", "))"
            )
        }
        guard minutes > 0, minutes <= 24 * 60 else { throw ValidationError("--minutes must be above 0, at most 1440") }
        guard (27...20_000).contains(subscribers) else {
            throw ValidationError("--subscribers must be from 27 to 20000")
        }
        guard rate > 0, rate <= 5_000 else { throw ValidationError("--rate must be above 0, at most 5000") }
        guard (1...3_600).contains(settle) else { throw ValidationError("--settle must be from 1 to 3600") }
    }

    func run() async throws {
        // Fail before anything is started.
        _ = try WrongClock.environment(byMs: 1)
        let seed = seed ?? UInt64.random(in: 1...UInt64(UInt32.max))
        let own =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        let program = freshet ?? URL(fileURLWithPath: own).deletingLastPathComponent().path + "/freshet"
        var options = ChaosRun.Options(
            seed: seed, minutes: minutes, folder: folder, project: project, freshet: program)
        options.subscribers = subscribers
        options.mutationsPerSecond = rate
        options.only = Set(only)
        options.writesOutside = outside
        options.outbox = outbox.rawValue
        options.settleMs = settle * 1_000
        let run = ChaosRun(options)
        Self.printError("seed \(seed), \(minutes) minutes, logs in \(folder)")
        signal(SIGINT, SIG_IGN)
        let interrupt = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
        interrupt.setEventHandler { run.stop() }
        interrupt.resume()
        defer { interrupt.cancel() }
        let report: ChaosReport
        do {
            report = try await run.run { Self.printError($0.text) }
        } catch {
            Self.printError("error: \(error)")
            throw ExitCode(2)
        }
        if json {
            Self.printError(report.text)
            print(report.json)
        } else {
            print(report.text)
        }
        if !report.hasPassed { throw ExitCode(1) }
    }

    private static func printError(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }
}
