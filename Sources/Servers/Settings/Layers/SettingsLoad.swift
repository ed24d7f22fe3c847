import FoundationEssentials

/// The settings in effect and the origin of each.
package struct LoadedSettings: Sendable {
    package let settings: Settings
    /// Every setting of the table, in its order.
    package let values: [(key: SettingKey, value: SettingValue, origin: String)]

    /// Whether a file, the environment or the command line sets this setting.
    package func isGiven(_ path: String) -> Bool {
        values.contains { $0.key.path == path && $0.origin != Self.standardOrigin }
    }

    static let standardOrigin = "default"
}

extension Settings {
    /// Loads flags over environment over file over the profile's defaults, and checks the result.
    ///
    /// - Parameters:
    ///   - fileName: what messages call the file.
    ///   - fileText: the YAML text; nil without a file.
    ///   - environment: all variables; only those that begin with `FRESHET_` matter. An empty one counts as unset.
    ///   - overrides: `key=value`, the arguments of `--set`.
    /// - Throws: all problems, one line each.
    package static func load(
        profile: SettingProfile = .serve, fileName: String = "freshet.yaml", fileText: String? = nil,
        environment: [String: String] = [:], overrides: [String] = []
    ) throws(SettingsError) -> LoadedSettings {
        let layers = SettingsLayers(
            fileName: fileName, fileText: fileText, environment: environment, overrides: overrides)
        var problems = layers.problems
        var settings = Settings(profile: profile)
        var rows: [(key: SettingKey, value: SettingValue, origin: String)] = []
        for key in SettingTable.keys {
            let standard = key.standard(in: profile)
            guard let (raw, layer) = layers.raw(key) else {
                rows.append((key, standard, LoadedSettings.standardOrigin))
                continue
            }
            let origin = layers.origin(of: key, in: layer)
            do {
                let value = try key.parse(raw)
                if key.devOnly, profile != .dev, value != key.standard {
                    problems.append(.init(origin: origin, message: "\(key.path) is only for freshet dev"))
                }
                settings.set(value, for: key)
                rows.append((key, value, origin))
            } catch {
                problems.append(.init(origin: origin, message: "\(key.path) \(error.message)"))
            }
        }
        // Contradictions between values that are invalid themselves would only repeat what is reported already.
        if problems.isEmpty { problems = settings.contradictions() }
        guard problems.isEmpty else { throw SettingsError(problems: problems) }
        return LoadedSettings(settings: settings, values: rows)
    }

    /// Loads with the file at `path`, else the one that `FRESHET_CONFIG` names, else none, and with secrets from the
    /// files that variables such as `FRESHET_POSTGRES_URL_FILE` name.
    package static func load(
        profile: SettingProfile = .serve, path: String?, environment: [String: String], overrides: [String] = []
    ) throws(SettingsError) -> LoadedSettings {
        let environment = try SecretFiles.resolved(environment, read: read)
        let named = environment["FRESHET_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
        guard let path = path ?? named else {
            return try load(profile: profile, environment: environment, overrides: overrides)
        }
        let text = try read(path)
        let name = String(path.split(separator: "/").last ?? Substring(path))
        return try load(
            profile: profile, fileName: name, fileText: text, environment: environment, overrides: overrides)
    }

    private static func read(_ path: String) throws(SettingsError) -> String {
        guard let file = FileManager.default.contents(atPath: path) else {
            throw SettingsError(problems: [.init(origin: path, message: "cannot be read")])
        }
        guard let text = String(validating: file, as: UTF8.self) else {
            throw SettingsError(problems: [.init(origin: path, message: "is not UTF-8")])
        }
        return text
    }
}
