/// The Swift package of a connector for `FirebaseDataConnect`.
///
/// Names are those of Firebase's generator: `DataConnect.moviesConnector`, `listMoviesQuery.ref(…)`. Unlike there, two
/// results are equal only if all their fields are. Source: docs/reference/generate.md.
struct FirebaseSwiftPackage {
    let connector: ConnectorDescription
    let options: SwiftOptions

    private var prefix: String { Naming.pascal(connector.id) }
    private var type: String { prefix + "Connector" }

    private var header: String {
        SwiftText.header(connector)
    }

    var files: [GeneratedFile] {
        [
            GeneratedFile("Package.swift", manifest),
            GeneratedFile("README.md", readme),
            GeneratedFile("Sources/\(prefix)Client.swift", client),
            GeneratedFile("Sources/\(prefix)Keys.swift", keys),
            GeneratedFile("Sources/\(prefix)Operations.swift", operations),
        ]
    }

    private var manifest: String {
        """
        // swift-tools-version: 5.9
        \(header)
        import PackageDescription

        let package = Package(
          name: "\(options.package)",
          platforms: [.iOS(.v17), .macOS(.v14), .tvOS(.v17), .watchOS(.v10)],
          products: [
            .library(name: "\(options.package)", targets: ["\(options.package)"])
          ],
          dependencies: [
            .package(url: "https://github.com/firebase/data-connect-ios-sdk.git", from: "11.12.0")
          ],
          targets: [
            .target(
              name: "\(options.package)",
              dependencies: [.product(name: "FirebaseDataConnect", package: "data-connect-ios-sdk")],
              path: "Sources")
          ]
        )

        """
    }

    private func name(of operation: OperationDescription) -> String { SwiftOperation.name(of: operation) }

    // MARK: Client

    private var client: String {
        var writer = CodeWriter(indentation: 2)
        writer.line(header)
        writer.line("import FirebaseCore\nimport FirebaseDataConnect\nimport Foundation")
        writer.line()
        writer.block("extension DataConnect {") { writer in
            writer.line("/// The connector `\(connector.id)` of the service `\(connector.serviceID)`.")
            writer.block("public static let \(Naming.lowerFirst(type)): \(type) = {", "}()") { writer in
                if let cache = options.cache {
                    writer.line("let defaults = DataConnectSettings()")
                    writer.line("let settings = DataConnectSettings(")
                    writer.line("  host: defaults.host, port: defaults.port, sslEnabled: defaults.sslEnabled,")
                    writer.line(
                        "  cacheSettings: CacheSettings(storage: .\((cache.storage ?? .persistent).rawValue),"
                            + " maxAge: \(cache.maxAgeText(unitMs: 1_000))))")
                }
                writer.line("let dataConnect = DataConnect.dataConnect(")
                writer.line(
                    "  connectorConfig: \(type).connectorConfig,\(options.cache == nil ? "" : " settings: settings,")"
                        + " callerSDKType: .generated)")
                writer.line("return \(type)(dataConnect: dataConnect)")
            }
        }
        writer.line()
        writer.block("public class \(type) {") { writer in
            writer.line("let dataConnect: DataConnect")
            writer.line()
            writer.line("public static let connectorConfig = ConnectorConfig(")
            writer.line(
                "  serviceId: \(SwiftText.literal(connector.serviceID)),"
                    + " location: \(SwiftText.literal(connector.location)),"
                    + " connector: \(SwiftText.literal(connector.id)))")
            writer.line()
            for operation in connector.operations {
                let name = name(of: operation)
                writer.documentation(operation.documentation, prefix: "/// ")
                writer.line("public let \(Naming.lowerFirst(name)): \(name)")
            }
            if !connector.operations.isEmpty { writer.line() }
            writer.block("init(dataConnect: DataConnect) {") { writer in
                writer.line("self.dataConnect = dataConnect")
                for operation in connector.operations {
                    let name = name(of: operation)
                    writer.line("\(Naming.lowerFirst(name)) = \(name)(dataConnect: dataConnect)")
                }
            }
            writer.line()
            writer.line("/// Connects to a server at another address than that of the Firebase project.")
            writer.block(
                "public func useEmulator(\n  host: String = DataConnect.EmulatorDefaults.host,"
                    + " port: Int = DataConnect.EmulatorDefaults.port\n) {"
            ) { $0.line("dataConnect.useEmulator(host: host, port: port)") }
        }
        return writer.text
    }

    // MARK: Keys

    private var keys: String {
        var writer = CodeWriter(indentation: 2)
        writer.line(header)
        writer.line("import FirebaseCore\nimport FirebaseDataConnect\nimport Foundation")
        for key in connector.keys {
            writer.line()
            let fields = key.fields.map { field in
                SwiftCoding.Member(name: field.name, type: SwiftText.type(field.type), valueType: field.type)
            }
            writer.line("/// The primary key of `\(key.typeName)`.")
            writer.block("public struct \(SwiftText.key(of: key.typeName)): Codable, Hashable, Sendable {") { writer in
                for field in fields {
                    writer.line("public private(set) var \(SwiftText.name(field.name)): \(field.type)")
                }
                writer.line()
                let parameters = fields.map { "\(SwiftText.name($0.name)): \($0.type)" }
                writer.block(writer.wrapping("public init(", parameters, ") {")) { writer in
                    for field in fields { writer.line("self.\(field.name) = \(SwiftText.name(field.name))") }
                }
                SwiftCoding.codingKeys(fields, in: &writer)
                SwiftCoding.decode(fields, in: &writer)
                SwiftCoding.encode(fields, in: &writer)
            }
        }
        return writer.text
    }

    // MARK: Operations

    private var operations: String {
        var writer = CodeWriter(indentation: 2)
        writer.line(header)
        writer.line("import FirebaseCore\nimport FirebaseDataConnect\nimport Foundation")
        for type in connector.enums {
            writer.line()
            SwiftEnum(
                type: type, conformances: "RawRepresentable, Codable, Hashable, Sendable", property: "rawValue",
                listsCases: false
            ).declare(in: &writer)
        }
        for operation in connector.operations {
            writer.line()
            SwiftOperation(operation: operation, publisher: options.publisher).declare(in: &writer)
        }
        if connector.contains(SwiftCoding.needsTexts) {
            writer.line()
            SwiftCoding.declareTexts(in: &writer)
        }
        return writer.text
    }

    // MARK: README

    private var readme: String {
        var writer = CodeWriter(indentation: 2)
        writer.line("# \(options.package)")
        writer.line()
        writer.line("Typed access to the connector `\(connector.id)` of the service `\(connector.serviceID)`, for")
        writer.line(
            "`FirebaseDataConnect`. `freshet generate` wrote this folder and replaces it whenever the operations")
        writer.line("change. In Xcode, add the folder as a local package.")
        writer.line()
        writer.line("```swift")
        writer.line("let connector = DataConnect.\(Naming.lowerFirst(type))")
        writer.line("connector.useEmulator(host: \"localhost\", port: 9399)  // the host and port of the server")
        for operation in connector.operations {
            let name = Naming.lowerFirst(name(of: operation))
            let arguments = operation.requiredVariables.map { "\($0.name): \($0.name)" }.joined(separator: ", ")
            writer.line("try await connector.\(name).execute(\(arguments))")
        }
        writer.line("```")
        return writer.text
    }
}
