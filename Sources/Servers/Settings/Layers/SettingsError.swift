/// All problems of the settings, one line each.
package struct SettingsError: Error, CustomStringConvertible {
    package struct Problem: Hashable, Sendable, CustomStringConvertible {
        /// Origin of the value: `freshet.yaml:12`, `environment FRESHET_HTTP_PORT`, `--set http.port`; empty for a
        /// contradiction between several settings.
        package let origin: String
        package let message: String

        package var description: String { origin.isEmpty ? message : "\(origin): \(message)" }
    }

    package let problems: [Problem]

    package var description: String { problems.map(\.description).joined(separator: "\n") }
}
