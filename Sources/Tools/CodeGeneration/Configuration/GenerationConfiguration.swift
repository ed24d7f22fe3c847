package import SchemaModel

/// A kind of client code that `generate:` of a `connector.yaml` may ask for.
package enum GenerationTarget: String, Sendable, CaseIterable {
    case typescript, swift, kotlin, dart
    case adminNode = "admin-node"
    case tools

    /// The key in `generate:`.
    package var key: String {
        switch self {
        case .typescript: "javascriptSdk"
        case .swift: "swiftSdk"
        case .kotlin: "kotlinSdk"
        case .dart: "dartSdk"
        case .adminNode: "adminNodeSdk"
        case .tools: "llmTools"
        }
    }
}

/// One output that a connector asks for.
package struct GenerationRequest: Sendable {
    package var connectorID: String
    package var target: GenerationTarget
    /// Distinguishes several outputs of the same target.
    package var number: Int
    /// `outputDir`, or `outputFile` of `llmTools`, as written: relative to the folder of `connector.yaml`.
    package var output: String
    package var options: Options
    /// The place of `output`, for diagnostics.
    package var node: ConfigurationNode
    package var file: SourceFile

    package init(
        connectorID: String, target: GenerationTarget, number: Int = 0, output: String, options: Options,
        node: ConfigurationNode, file: SourceFile
    ) {
        self.connectorID = connectorID
        self.target = target
        self.number = number
        self.output = output
        self.options = options
        self.node = node
        self.file = file
    }

    /// The name in messages and in the manifest: `movies/swiftSdk`, `movies/swiftSdk[1]`.
    package var name: String { "\(connectorID)/\(target.key)" + (number == 0 ? "" : "[\(number)]") }

    package enum Options: Sendable {
        case typescript(JavaScriptOptions)
        case adminNode(JavaScriptOptions)
        case swift(SwiftOptions)
        case kotlin(package: String, ClientCache?)
        case dart(package: String, ClientCache?)
        case tools
    }
}

package struct JavaScriptOptions: Sendable {
    /// The name in `package.json`.
    package var package: String
    /// The folder of the app's `package.json`, relative to that of `connector.yaml`.
    package var packageJSONFolder: String?
    package var hasReact = false
    package var hasAngular = false
    package var cache: ClientCache?

    package init(package: String) { self.package = package }
}

package struct SwiftOptions: Sendable {
    /// The SDK that the generated code uses.
    package enum Flavor: String, Sendable, CaseIterable {
        /// Freshet's own, `FreshetClient`.
        case freshet
        /// `FirebaseDataConnect`.
        case firebase
    }

    /// The way in which query references publish their results.
    package enum Publisher: String, Sendable, CaseIterable {
        case observableMacro, observableObject
    }

    /// The name of the Swift package and its product.
    package var package: String
    package var publisher = Publisher.observableMacro
    package var flavor = Flavor.freshet
    /// The URL or path of the package with the SDK, for `Package.swift`; nil if the files belong to a target of the
    /// app.
    package var sdk: String?
    /// Whether the operations are printed a second time with the names of Firebase's SDK, for `FreshetFirebase`.
    package var hasFirebaseNames = false
    package var cache: ClientCache?

    package init(package: String) { self.package = package }
}

/// `clientCache`: whether and how clients cache results. Source: docs/reference/generate.md.
package struct ClientCache: Sendable, Hashable {
    package enum Storage: String, Sendable, CaseIterable {
        case persistent, memory
    }

    /// The age up to which clients use a cached result without asking the server.
    package var maxAgeMs: Int
    /// Nil for the SDK's default.
    package var storage: Storage?

    package init(maxAgeMs: Int = 0, storage: Storage? = nil) {
        self.maxAgeMs = maxAgeMs
        self.storage = storage
    }

    static let maxAgeMsMax = 366 * 86_400_000

    /// Parses a duration such as `0`, `5s`, `1h30m` or `500ms`; a plain number counts seconds.
    static func milliseconds(_ text: String) -> Int? {
        if let seconds = Int(text) { return bounded(Double(seconds) * 1_000) }
        let units: [(name: String, ms: Double)] = [
            ("ms", 1), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("d", 86_400_000),
        ]
        var rest = text[...]
        var total = 0.0
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
            rest = rest.dropFirst(digits.count)
            guard let number = Double(digits), let unit = units.first(where: { rest.hasPrefix($0.name) }) else {
                return nil
            }
            rest = rest.dropFirst(unit.name.count)
            total += number * unit.ms
        }
        return text.isEmpty ? nil : bounded(total)
    }

    private static func bounded(_ ms: Double) -> Int? {
        (0...Double(maxAgeMsMax)).contains(ms) ? Int(ms) : nil
    }
}
