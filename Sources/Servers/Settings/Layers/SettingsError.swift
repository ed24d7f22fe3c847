/// Everything that is wrong with the settings, together: one line each.
package struct SettingsError: Error, CustomStringConvertible {
    package struct Problem: Hashable, Sendable, CustomStringConvertible {
        /// Where it was set: `freshet.yaml:12`, `environment FRESHET_HTTP_PORT`, `--set http.port`; empty when it is
        /// about several settings.
        package let place: String
        package let message: String

        package var description: String { place.isEmpty ? message : "\(place): \(message)" }
    }

    package let problems: [Problem]

    package var description: String { problems.map(\.description).joined(separator: "\n") }
}
