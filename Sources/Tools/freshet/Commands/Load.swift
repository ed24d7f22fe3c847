import ArgumentParser
import Foundation
import JSON
import LoadDriver
import ProtocolClients

struct Load: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Puts load on a server and checks that every subscriber ends with the correct result.",
        discussion: """
            Runs a scenario (config/load has some): subscribers that follow queries, and mutations at fixed times. \
            Afterwards each live query is read once and compared with its subscribers' results. Ctrl-C ends the load \
            early. Exit code: 0 if all converged; 1 if not, if no mutation succeeded, or if no server was reachable; \
            2 if the scenario cannot be run.
            """)

    @Argument(help: "Scenario file.")
    var scenario: String

    @Option(help: "A gateway; repeat for several. Subscribers are spread over them. Also FRESHET_URL.")
    var url: [String] = []

    @Option(help: "The server for mutations and one-shot reads; by default the first gateway.")
    var apiURL: String?

    @Option(help: "Bearer token where the scenario gives none. Also read from FRESHET_TOKEN.")
    var token: String?

    @OptionGroup var tls: TLSOptions

    @Option(help: "Total number of subscribers, instead of the scenario's; groups keep their shares.")
    var subscribers: Int?

    @Option(help: "Total mutations per second, instead of the scenario's.")
    var rate: Double?

    @Option(help: ArgumentHelp("Measured time, instead of the scenario's.", valueName: "seconds"))
    var duration: Double?

    @Option(help: "Protocol of all subscribers: graphql-transport-ws, longpoll or sse.")
    var transport: LoadTransport?

    @Option(help: "Random seed; by default the scenario's, or a new one.")
    var seed: UInt64?

    @Flag(help: "Print the report as JSON; the text goes to standard error.")
    var json = false

    func validate() throws {
        if let subscribers, !(1...Scenario.subscribersMax).contains(subscribers) {
            throw ValidationError("--subscribers must be from 1 to \(Scenario.subscribersMax)")
        }
        if let rate, !(rate > 0 && rate <= Scenario.perSecondMax) {
            throw ValidationError("--rate must be above 0, at most \(Int(Scenario.perSecondMax))")
        }
        if let duration, !(duration >= 0.1 && duration <= Double(Scenario.durationMsMax) / 1_000) {
            throw ValidationError("--duration must be from 0.1 to \(Scenario.durationMsMax / 1_000) seconds")
        }
    }

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let urls = url.isEmpty ? [environment["FRESHET_URL"] ?? "http://127.0.0.1:9399"] : url
        let options = LoadRun.Options(
            gateways: urls.map(address), api: apiURL.map(address),
            token: token ?? environment["FRESHET_TOKEN"])
        let scenario = read().applying(overrides)
        let run = LoadRun(scenario, options: options)
        Terminal.error("\(scenario.name): seed \(run.seed)")
        let progress = ProgressLine()
        let stopper = Task {
            await Signals.waitForEnd()
            run.stop()
        }
        let report: LoadReport
        do throws(LoadError) {
            report = try await run.run { progress.show($0) }
        } catch {
            progress.clear()
            Terminal.fail(error.description, code: error.code == .scenario ? 2 : 1)
        }
        stopper.cancel()
        progress.clear()
        if json {
            Terminal.error(report.text)
            Terminal.out(report.json.description)
        } else {
            Terminal.out(report.text)
        }
        if !report.hasPassed { throw ExitCode(1) }
    }

    private var overrides: Scenario.Overrides {
        var overrides = Scenario.Overrides()
        overrides.subscribers = subscribers
        overrides.perSecond = rate
        overrides.durationMs = duration.map { Int64($0 * 1_000) }
        overrides.transport = transport
        overrides.seed = seed
        return overrides
    }

    private func read() -> Scenario {
        guard let data = FileManager.default.contents(atPath: scenario) else {
            Terminal.fail("\(scenario): cannot be read", code: 2)
        }
        do throws(ScenarioError) {
            return try ScenarioFile.parse(name: scenario, text: String(decoding: data, as: UTF8.self))
        } catch {
            for problem in error.problems.dropLast() { Terminal.error("error: \(problem)") }
            Terminal.fail(error.problems.last?.description ?? scenario, code: 2)
        }
    }

    private func address(_ text: String) -> ServerAddress {
        do throws(ClientError) {
            return try ServerAddress(text, trust: tls.trust)
        } catch {
            Terminal.fail(error.description, code: 2)
        }
    }
}

extension LoadTransport: ExpressibleByArgument {}

/// A progress line that is overwritten on a terminal; elsewhere, a new line every few seconds.
private final class ProgressLine: Sendable {
    static let intervalMs: Int64 = 5_000

    private let isTerminal = isatty(2) == 1

    func show(_ progress: LoadProgress) {
        if isTerminal {
            write("\r\u{1b}[K\(progress.text)")
        } else if progress.elapsedMs % Self.intervalMs < LoadRun.progressMs {
            write(progress.text + "\n")
        }
    }

    func clear() {
        if isTerminal { write("\r\u{1b}[K") }
    }

    private func write(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}
