import ArgumentParser
import Chaos
import Foundation

@main
struct ChaosCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "freshet-chaos",
        abstract: "Breaks a cluster again and again under load, and tells whether anything was missed.",
        discussion: """
            Starts 2 API nodes, 3 workers, 2 gateways, HAProxy, Postgres and Redis of its own. After each round of faults \
            every subscriber must hold what reading gives, every acknowledged mutation must be in the database, and no \
            session may have been shown older numbers. Logs stay in --folder, those of misses in its folder misses. Exit \
            code 0 without a miss, 1 with one, 2 when it could not start.
            """)

    @Option(help: "Length of the run; the round under way is finished.")
    var minutes = 5.0

    @Option(help: "What decides the faults; otherwise a new one.")
    var seed: UInt64?

    @Option(help: "Subscribers, over WebSockets, event streams and long-polls.")
    var subscribers = 300

    @Option(help: "Mutations per second.")
    var rate = 40.0

    @Option(help: ArgumentHelp("Time after which a subscriber that differs is a miss.", valueName: "seconds"))
    var settle = 60

    @Option(help: "Data, settings and logs; emptied at the start.")
    var folder = ".freshet/chaos"

    @Option(help: "Project folder with the operations.")
    var project = "config/chaos"

    @Option(help: "The program under test; otherwise the one beside this.")
    var freshet: String?

    @Option(help: ArgumentHelp("Only faults of this kind, one at a time; repeat it for several.", valueName: "kind"))
    var only: [String] = []

    @Flag(help: "Print the report as JSON; the text goes to standard error.")
    var json = false

    func validate() throws {
        if let unknown = only.first(where: { !ChaosRun.kinds.contains($0) }) {
            throw ValidationError(
                "--only: there is no \"\(unknown)\"; there are \(ChaosRun.kinds.sorted().joined(separator: ", "))")
        }
        guard minutes > 0, minutes <= 24 * 60 else { throw ValidationError("--minutes must be above 0, at most 1440") }
        guard (27...20_000).contains(subscribers) else { throw ValidationError("--subscribers: 27 to 20000") }
        guard rate > 0, rate <= 5_000 else { throw ValidationError("--rate must be above 0, at most 5000") }
        guard (1...3_600).contains(settle) else { throw ValidationError("--settle must be from 1 to 3600") }
    }

    func run() async throws {
        // Before anything is started.
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
        options.settleMs = settle * 1_000
        let run = ChaosRun(options)
        Self.tell("seed \(seed), \(minutes) minutes, logs in \(folder)")
        signal(SIGINT, SIG_IGN)
        let interrupt = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
        interrupt.setEventHandler { run.stop() }
        interrupt.resume()
        defer { interrupt.cancel() }
        let report: ChaosReport
        do {
            report = try await run.run { Self.tell($0.text) }
        } catch {
            Self.tell("error: \(error)")
            throw ExitCode(2)
        }
        if json {
            Self.tell(report.text)
            print(report.json)
        } else {
            print(report.text)
        }
        if !report.hasPassed { throw ExitCode(1) }
    }

    private static func tell(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }
}
