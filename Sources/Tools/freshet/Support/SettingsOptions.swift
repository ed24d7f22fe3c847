import ArgumentParser
import Foundation
import Logging
import Metrics
import Observability
import Settings

/// The options `--config` and `--set`, and the settings loaded with them.
struct SettingsOptions: ParsableArguments {
    @Option(help: "Settings file (YAML); config/freshet.yaml documents every key.")
    var config: String?

    @Option(name: .customLong("set"), help: ArgumentHelp("Overrides one setting.", valueName: "key=value"))
    var overrides: [String] = []

    func load(_ profile: SettingProfile, further: [String] = []) -> LoadedSettings {
        do throws(SettingsError) {
            return try Settings.load(
                profile: profile, path: config, environment: ProcessInfo.processInfo.environment,
                overrides: further + overrides)
        } catch {
            for problem in error.problems { Terminal.error("error: \(problem)") }
            Foundation.exit(1)
        }
    }
}

/// Starts the logging and metrics of the process; once.
enum Observation {
    static func start(_ settings: Settings) -> PrometheusMetrics {
        LogOptions(
            level: Logger.Level(rawValue: settings.log.level) ?? .info,
            format: settings.log.format == .json ? .json : .text, node: nil,
            colour: LogOptions.colourOnStandardError(environment: ProcessInfo.processInfo.environment)
        ).bootstrap()
        let metrics = PrometheusMetrics()
        MetricsSystem.bootstrap(metrics)
        return metrics
    }
}
