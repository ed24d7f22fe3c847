import ArgumentParser
import Foundation
import Logging
import Metrics
import Observability
import Settings

/// `--config` and `--set`, and what follows from them.
struct SettingsOptions: ParsableArguments {
    @Option(help: "Settings file (YAML). Every key is in config/freshet.yaml.")
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

/// Logging and metrics of the process; once.
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
