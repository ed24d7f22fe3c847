/// The Swift code of a connector for Freshet's own SDK, `FreshetClient`: one file for the connector, its keys, its
/// enums, edits of rows and each operation. Source: docs/reference/generate.md.
struct FreshetSwiftPackage {
    let connector: ConnectorDescription
    let options: SwiftOptions

    private var type: String { Naming.pascal(connector.id) + "Connector" }

    private var header: String {
        SwiftText.header(connector)
    }

    var files: [GeneratedFile] {
        var files = [
            GeneratedFile("README.md", readme),
            GeneratedFile("Sources/\(type).swift", connectorFile),
            GeneratedFile("Sources/Keys.swift", keys),
        ]
        if let edits = FreshetSwiftEdits(connector) {
            var writer = start(hasUUIDs: edits.hasUUIDs)
            edits.declare(in: &writer)
            files.append(GeneratedFile("Sources/Edits.swift", writer.text))
        }
        if !connector.enums.isEmpty { files.append(GeneratedFile("Sources/Enums.swift", enums)) }
        if options.hasFirebaseNames {
            let names = FirebaseNames(
                connector: connector, type: type, cache: cache, publisher: options.publisher)
            files.append(GeneratedFile("Sources/\(type)+Firebase.swift", names.file))
        }
        if let sdk = options.sdk { files.append(GeneratedFile("Package.swift", manifest(sdk))) }
        var taken = Set(files.map { $0.path.lowercased() })
        for operation in connector.operations {
            var path = "Sources/\(FreshetSwiftOperation.name(of: operation)).swift"
            if !taken.insert(path.lowercased()).inserted {
                path = "Sources/\(FreshetSwiftOperation.name(of: operation))Operation.swift"
                taken.insert(path.lowercased())
            }
            let hasUUIDs =
                operation.variables.contains { $0.type.contains(SwiftText.isUUID) }
                || operation.result.contains(SwiftText.isUUID)
            var writer = start(hasUUIDs: hasUUIDs)
            FreshetSwiftOperation(operation: operation, connector: type).declare(in: &writer)
            files.append(GeneratedFile(path, writer.text))
        }
        return files.sorted { $0.path < $1.path }
    }

    /// - Parameter hasUUIDs: whether the file names `UUID`, which is Foundation's.
    private func start(hasUUIDs: Bool) -> CodeWriter {
        var writer = CodeWriter(indentation: 4)
        writer.line(header)
        if hasUUIDs { writer.line("public import Foundation") }
        writer.line("public import FreshetClient")
        writer.line()
        return writer
    }

    private func manifest(_ sdk: String) -> String {
        let products = (["FreshetClient"] + (options.hasFirebaseNames ? ["FreshetFirebase"] : []))
            .map { ".product(name: \"\($0)\", package: \"freshet\")" }.joined(separator: ", ")
        let isURL = sdk.contains("://") || sdk.hasPrefix("git@")
        let dependency =
            isURL
            ? ".package(url: \(SwiftText.literal(sdk)), from: \"0.1.0\")"
            : ".package(name: \"freshet\", path: \(SwiftText.literal(sdk)))"
        return """
            // swift-tools-version: 6.0
            \(header)
            import PackageDescription

            let package = Package(
                name: "\(options.package)",
                platforms: [.iOS(.v16), .macOS(.v13), .tvOS(.v16), .watchOS(.v9)],
                products: [.library(name: "\(options.package)", targets: ["\(options.package)"])],
                dependencies: [\(dependency)],
                targets: [
                    .target(
                        name: "\(options.package)",
                        dependencies: [\(products)],
                        path: "Sources")
                ]
            )

            """
    }

    // MARK: Connector

    private var cache: String {
        guard let cache = options.cache else { return ".off" }
        let storage = (cache.storage ?? .persistent).rawValue
        if cache.maxAgeMs == 0 { return ".\(storage)()" }
        let age =
            cache.maxAgeMs % 1_000 == 0
            ? ".seconds(\(cache.maxAgeMs / 1_000))" : ".milliseconds(\(cache.maxAgeMs))"
        return ".\(storage)(maxAge: \(age))"
    }

    private var connectorFile: String {
        var writer = CodeWriter(indentation: 4)
        writer.line(header)
        writer.line("public import FreshetClient")
        writer.line()
        writer.line("/// The connector `\(connector.id)` of the service `\(connector.serviceID)`.")
        writer.block("public struct \(type): FreshetConnector {") { writer in
            writer.line("public static let identity = ConnectorIdentity(")
            writer.line(
                "    service: \(SwiftText.literal(connector.serviceID)),"
                    + " location: \(SwiftText.literal(connector.location)),")
            writer.line("    connector: \(SwiftText.literal(connector.id)),")
            writer.line("    revision: \(SwiftText.literal(connector.revision)))")
            writer.line("public let link: ConnectorLink")
            writer.line()
            writer.line("public init(link: ConnectorLink) { self.link = link }")
            writer.line()
            writer.line("/// - Parameter address: the server's, such as `https://api.example.com`.")
            writer.line("public init(")
            writer.line("    at address: String, cache: CacheSettings = \(cache), auth: AuthSource = .none,")
            writer.line("    options: ConnectorOptions = ConnectorOptions()")
            writer.block(") {") {
                $0.line("link = ConnectorLink(Self.identity, at: address, cache: cache, auth: auth, options: options)")
            }
        }
        return writer.text
    }

    // MARK: Keys and enums

    private var keys: String {
        let hasUUIDs = connector.keys.contains { $0.fields.contains { $0.type.contains(SwiftText.isUUID) } }
        var writer = start(hasUUIDs: hasUUIDs)
        for (index, key) in connector.keys.enumerated() {
            if index > 0 { writer.line() }
            let members = key.fields.map { FreshetSwiftOperation.Member(name: $0.name, type: SwiftText.type($0.type)) }
            writer.line("/// The primary key of `\(key.typeName)`.")
            writer.block("public struct \(SwiftText.key(of: key.typeName)): EntityKey {") { writer in
                writer.line("public static let entityType = \(SwiftText.literal(key.typeName))")
                let names = key.fields.map { SwiftText.literal($0.name) }.joined(separator: ", ")
                writer.line("public static let keyFields = [\(names)]")
                writer.line()
                for member in members { writer.line("public var \(SwiftText.name(member.name)): \(member.type)") }
                writer.line()
                FreshetSwiftOperation.memberwise(members, in: &writer)
                writer.line()
                FreshetSwiftOperation.reading(members, in: &writer)
                writer.line()
                let values = members.map { "AnyValue(\(SwiftText.name($0.name)))" }.joined(separator: ", ")
                writer.line("public var keyValues: [AnyValue] { [\(values)] }")
            }
        }
        return writer.text
    }

    private var enums: String {
        var writer = CodeWriter(indentation: 4)
        writer.line(header)
        writer.line("public import FreshetClient")
        for type in connector.enums {
            writer.line()
            SwiftEnum(type: type, conformances: "OpenEnum", property: "name", listsCases: true).declare(in: &writer)
        }
        return writer.text
    }

    private var readme: String {
        var writer = CodeWriter(indentation: 4)
        writer.line("# \(options.package)")
        writer.line()
        writer.line("Typed access to the connector `\(connector.id)` of the service `\(connector.serviceID)`, for")
        writer.line(
            "`FreshetClient`. `freshet generate` wrote this folder and replaces it whenever the operations change.")
        if options.sdk == nil {
            writer.line(
                "Its sources belong into a target that depends on `FreshetClient`; with `sdk: <URL or path>` in")
            writer.line("`connector.yaml`, the folder is a package of its own.")
        }
        writer.line()
        writer.line("```swift")
        writer.line("let \(Naming.camel(connector.id)) = \(type)(at: \"http://localhost:9399\")")
        for operation in connector.operations {
            let arguments = operation.requiredVariables.map { "\($0.name): \($0.name)" }.joined(separator: ", ")
            let call =
                "\(Naming.camel(connector.id)).\(FreshetSwiftOperation.function(of: operation))(\(arguments))"
            switch operation.kind {
            case .query where operation.isRefreshed: writer.line("for try await result in \(call).live() { … }")
            case .query: writer.line("let result = try await \(call).get()")
            case .mutation: writer.line("try await \(call).run()")
            }
        }
        writer.line("```")
        return writer.text
    }
}
