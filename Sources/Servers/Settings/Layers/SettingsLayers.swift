import Configuration
import Synchronization

/// The layers over the defaults: command line, environment and file, in this precedence. `swift-configuration` does the
/// lookups; this type prepares the layers, refuses unknown names and reports the origin of a value.
struct SettingsLayers {
    /// Variables of Freshet's tools that are not settings: the path of the settings file, and URLs, token and authority
    /// of its clients.
    static let otherEnvironmentNames: Set<String> = [
        "FRESHET_ADMIN_URL", "FRESHET_CACERT", "FRESHET_CONFIG", "FRESHET_TOKEN", "FRESHET_URL",
    ]

    private(set) var problems: [SettingsError.Problem]
    private let file: SettingsFile?
    private let fileName: String
    private let reader: ConfigReader
    private let lastHit = LastHit()

    init(fileName: String, fileText: String?, environment: [String: String], overrides: [String]) {
        let file = fileText.map { SettingsFile(name: fileName, text: $0) }
        self.file = file
        self.fileName = fileName
        problems = file?.problems ?? []
        problems += Self.unknownNames(in: environment)
        let overrides = Self.parse(overrides, &problems)
        reader = ConfigReader(
            providers: [
                Self.provider("command line", overrides), Self.provider(environment),
                Self.provider("file", file?.values ?? [:]),
            ], accessReporter: lastHit)
    }

    enum Layer: Int {
        case commandLine, environment, file
    }

    /// The text in the layer of highest precedence that has the setting.
    func raw(_ key: SettingKey) -> (raw: SettingKey.Raw, layer: Layer)? {
        let configKey = ConfigKey(key.path.split(separator: ".").map(String.init))
        let raw: SettingKey.Raw? =
            key.kind == .stringList
            ? reader.stringArray(forKey: configKey, isSecret: key.secret).map { .list($0.filter { !$0.isEmpty }) }
            : reader.string(forKey: configKey, isSecret: key.secret).map { .text($0) }
        guard let raw, let layer = lastHit.layer.flatMap(Layer.init(rawValue:)) else { return nil }
        return (raw, layer)
    }

    func origin(of key: SettingKey, in layer: Layer) -> String {
        switch layer {
        case .commandLine: "--set \(key.path)"
        case .environment: "environment \(key.environmentName)"
        case .file: "\(fileName):\(file?.lines[key.path] ?? 0)"
        }
    }

    /// The message for a path of no setting.
    static func unknown(_ path: String) -> String {
        let known = path.contains(".") ? SettingTable.keys.map(\.path) : SettingTable.sections.map(\.name)
        // A name in the wrong section, or in none, is found by the name alone.
        let name = String(path.split(separator: ".").last ?? "")
        let suggestion =
            Suggestion.nearest(to: path, in: known) ?? SettingTable.keys.first { $0.name == name }?.path
        return "unknown setting \(path.prefix(80))" + (suggestion.map { "; did you mean \($0)?" } ?? "")
    }
}

extension SettingsLayers {
    private static func parse(
        _ overrides: [String], _ problems: inout [SettingsError.Problem]
    ) -> [String: SettingKey.Raw] {
        var values: [String: SettingKey.Raw] = [:]
        for override in overrides {
            guard let equals = override.firstIndex(of: "=") else {
                problems.append(.init(origin: "--set", message: "takes key=value, not \"\(override.prefix(80))\""))
                continue
            }
            let path = String(override[..<equals])
            guard SettingTable.byPath[path] != nil else {
                problems.append(.init(origin: "--set \(path.prefix(80))", message: unknown(path)))
                continue
            }
            // The last one wins, as usual on command lines.
            values[path] = .text(String(override[override.index(after: equals)...]))
        }
        return values
    }

    private static func unknownNames(in environment: [String: String]) -> [SettingsError.Problem] {
        let secretFiles = SettingTable.keys.filter(\.secret).map { $0.environmentName + SecretFiles.suffix }
        let known = Set(SettingTable.keys.map(\.environmentName)).union(otherEnvironmentNames).union(secretFiles)
        return environment.filter { name, value in
            name.hasPrefix("FRESHET_") && !known.contains(name) && !isServiceLink(name, value)
        }.keys.sorted().map { name in
            let suggestion = Suggestion.nearest(to: name, in: known.sorted())
            return .init(
                origin: "environment \(name.prefix(80))",
                message: "no setting has this name" + (suggestion.map { "; did you mean \($0)?" } ?? ""))
        }
    }

    /// Whether Kubernetes added the variable: it does so in every container for each Service. A Service named `freshet`
    /// yields `FRESHET_SERVICE_HOST`, `FRESHET_SERVICE_PORT_HTTP`, `FRESHET_PORT=tcp://…`,
    /// `FRESHET_PORT_9399_TCP_ADDR`; one named `freshet-http` a `FRESHET_HTTP_PORT=tcp://…`, which is not meant for
    /// `http.port`.
    private static func isServiceLink(_ name: String, _ value: String) -> Bool {
        if name.hasSuffix("_SERVICE_HOST") || name.contains("_SERVICE_PORT") { return true }
        if name.hasSuffix("_PORT"), value.contains("://") { return true }
        let words = name.split(separator: "_")
        return words.indices.dropFirst(2).contains { index in
            words[index - 2] == "PORT" && Int(words[index - 1]) != nil && ["TCP", "UDP", "SCTP"].contains(words[index])
        }
    }

    /// An empty variable counts as unset: compose files pass variables that the host lacks as empty ones.
    private static func provider(_ environment: [String: String]) -> some ConfigProvider {
        let present = environment.filter { name, value in
            name.hasPrefix("FRESHET_") && !value.isEmpty && !isServiceLink(name, value)
        }
        return KeyMappingProvider(upstream: EnvironmentVariablesProvider(environmentVariables: present)) { key in
            guard let setting = SettingTable.byPath[key.components.joined(separator: ".")] else { return key }
            return AbsoluteConfigKey(setting.environmentWords)
        }
    }

    private static func provider(_ name: String, _ values: [String: SettingKey.Raw]) -> some ConfigProvider {
        var content: [AbsoluteConfigKey: ConfigValue] = [:]
        for (path, raw) in values {
            guard let setting = SettingTable.byPath[path] else { continue }
            let value: ConfigContent =
                switch (raw, setting.kind) {
                case (.list(let elements), .stringList): .stringArray(elements)
                case (.text(let text), .stringList): .stringArray(SettingKey.split(text))
                case (.text(let text), _): .string(text)
                // Only a file can hold a list for a scalar setting, and it reports that itself.
                case (.list, _): .string("")
                }
            content[AbsoluteConfigKey(path.split(separator: ".").map(String.init))] = ConfigValue(
                value, isSecret: setting.secret)
        }
        return InMemoryProvider(name: name, values: content)
    }
}

/// Remembers which layer answered the last lookup. The reader reports each lookup before it returns.
private final class LastHit: AccessReporter {
    private let index = Mutex<Int?>(nil)

    var layer: Int? { index.withLock { $0 } }

    func report(_ event: AccessEvent) {
        var hit: Int?
        if let last = event.providerResults.indices.last,
            case .success(let found) = event.providerResults[last].result, found.value != nil
        {
            hit = last
        }
        index.withLock { $0 = hit }
    }
}
