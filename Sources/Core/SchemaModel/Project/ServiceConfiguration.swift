/// The content of `dataconnect.yaml`. Keys that concern Google's cloud are accepted and ignored.
package struct ServiceConfiguration: Sendable {
    /// A folder of schema or connector files as written, relative to the file's folder, with its location.
    package struct Folder: Sendable {
        package let path: String
        package let node: ConfigurationNode
    }

    /// A schema whose fields an external GraphQL service resolves.
    package struct Resolver: Sendable {
        package let endpoint: ResolverEndpoint
        package let folder: Folder
    }

    package static let fileName = "dataconnect.yaml"
    static let specVersions = ["v1", "v1beta", "v1alpha"]

    package var serviceID: String
    package var location: String
    package var schemaFolders: [Folder]
    package var resolvers: [Resolver]
    package var connectorFolders: [Folder]

    /// Reports all problems; returns nil if a required value is missing or malformed.
    package static func read(
        _ root: ConfigurationNode, in file: SourceFile, sink: inout DiagnosticSink
    ) -> ServiceConfiguration? {
        var reader = ConfigurationReader(root, in: file, sink: &sink)
        guard case .mapping = root.kind else { return nil }
        if let version = reader.node("specVersion"), !specVersions.contains(version.scalar ?? "") {
            sink.report(
                .warning, rule: .configurationVersion, at: version, in: file,
                "specVersion \"\(version.scalar ?? "")\" is unknown and treated as \(specVersions[0])")
        }
        let serviceID = reader.text("serviceId", isRequired: true, sink: &sink)
        let location = reader.text("location", sink: &sink) ?? "local"
        let schemas = readSchemas(&reader, root, sink: &sink)
        let connectorFolders = readConnectors(&reader, sink: &sink)
        reader.finish(sink: &sink)
        if let serviceID, let node = reader.node("serviceId"), !isIdentifier(serviceID) {
            sink.report(.error, rule: .configurationIdentifier, at: node, in: file, identifierMessage("serviceId"))
            return nil
        }
        guard let serviceID, let schemas, let connectorFolders else { return nil }
        return ServiceConfiguration(
            serviceID: serviceID, location: location,
            schemaFolders: schemas.filter { $0.endpoint == nil }.map(\.folder),
            resolvers: schemas.compactMap { schema in
                schema.endpoint.map { Resolver(endpoint: $0, folder: schema.folder) }
            }, connectorFolders: connectorFolders)
    }

    private static func readSchemas(
        _ reader: inout ConfigurationReader, _ root: ConfigurationNode, sink: inout DiagnosticSink
    ) -> [SchemaEntry]? {
        let file = reader.file
        let single = reader.node("schema")
        guard let list = reader.list("schemas", sink: &sink) else {
            let schema = single ?? ConfigurationNode(.mapping([]), line: root.line, column: root.column)
            return readSchema(schema, path: "schema", in: file, sink: &sink).map { [$0] }
        }
        if let single {
            sink.report(
                .error, rule: .configurationRepeated, at: single, in: file,
                "give either \"schema\" or \"schemas\", not both")
            return nil
        }
        let schemas = list.enumerated().compactMap { index, node in
            readSchema(node, path: "schemas[\(index)]", in: file, sink: &sink)
        }
        return schemas.count == list.count ? schemas : nil
    }

    private struct SchemaEntry {
        let folder: Folder
        /// Set for the schema of a custom resolver.
        let endpoint: ResolverEndpoint?
    }

    private static func readSchema(
        _ node: ConfigurationNode, path: String, in file: SourceFile, sink: inout DiagnosticSink
    ) -> SchemaEntry? {
        var reader = ConfigurationReader(node, path: path, in: file, sink: &sink)
        guard case .mapping = node.kind else { return nil }
        let id = reader.text("id", sink: &sink)
        let source = reader.text("source", sink: &sink)
        let sourceNode = reader.node("source") ?? node
        var endpoint: ResolverEndpoint?
        var isSound = true
        if let datasource = reader.node("datasource") {
            var kinds = ConfigurationReader(datasource, path: path + ".datasource", in: file, sink: &sink)
            // The database connection is configured by settings instead.
            kinds.ignore("postgresql")
            if let custom = kinds.node("httpGraphql") {
                endpoint = ResolverConfiguration.read(
                    custom, id: id ?? path, path: path + ".datasource.httpGraphql", in: file, sink: &sink)
                isSound = endpoint != nil
            }
            kinds.finish(sink: &sink)
        }
        reader.finish(sink: &sink)
        let folder = Folder(path: source ?? "./schema", node: sourceNode)
        return isSound ? SchemaEntry(folder: folder, endpoint: endpoint) : nil
    }

    private static func readConnectors(
        _ reader: inout ConfigurationReader, sink: inout DiagnosticSink
    ) -> [Folder]? {
        let file = reader.file
        guard let items = reader.list("connectorDirs", sink: &sink) else {
            // A value of the wrong type has already been reported.
            guard reader.node("connectorDirs") == nil else { return nil }
            return []
        }
        var folders: [Folder] = []
        for item in items {
            guard let path = item.scalar, !path.isEmpty else {
                sink.report(
                    .error, rule: .configurationType, at: item, in: file,
                    "an entry of \"connectorDirs\" must be a path, but is \(item.kindName)")
                return nil
            }
            if folders.contains(where: { $0.path == path }) {
                sink.report(
                    .error, rule: .configurationRepeated, at: item, in: file,
                    "\"\(path)\" is listed more than once")
                continue
            }
            folders.append(Folder(path: path, node: item))
        }
        return folders
    }

    /// Returns whether a text is valid as an id in request paths: 1 to 63 ASCII letters, digits, `-` and `_`.
    static func isIdentifier(_ text: String) -> Bool {
        (1...63).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (0x41...0x5A).contains(byte & 0xDF) || (0x30...0x39).contains(byte) || byte == 0x2D || byte == 0x5F
            }
    }

    static func identifierMessage(_ key: String) -> String {
        "\"\(key)\" must consist of 1 to 63 letters, digits, \"-\" and \"_\""
    }
}

/// The content of a `connector.yaml`.
package struct ConnectorConfiguration: Sendable {
    package static let fileName = "connector.yaml"

    package var connectorID: String
    /// The node of the identifier, for diagnostics.
    package var identifierNode: ConfigurationNode
    /// Whether a client SDK is generated with `clientCache`.
    package var hasClientCache = false
    /// The value of `generate`, which says which client code to generate.
    package var generate: ConfigurationNode?

    /// Returns nil if the identifier is missing or invalid.
    package static func read(
        _ root: ConfigurationNode, in file: SourceFile, sink: inout DiagnosticSink
    ) -> ConnectorConfiguration? {
        var reader = ConfigurationReader(root, in: file, sink: &sink)
        guard case .mapping = root.kind else { return nil }
        // Obsolete: replaced by @auth.
        reader.ignore("authMode")
        let generate = reader.node("generate")
        let id = reader.text("connectorId", isRequired: true, sink: &sink)
        let node = reader.node("connectorId")
        reader.finish(sink: &sink)
        guard let id, let node else { return nil }
        guard ServiceConfiguration.isIdentifier(id) else {
            sink.report(
                .error, rule: .configurationIdentifier, at: node, in: file,
                ServiceConfiguration.identifierMessage("connectorId"))
            return nil
        }
        return ConnectorConfiguration(
            connectorID: id, identifierNode: node, hasClientCache: generate.map(hasClientCache) ?? false,
            generate: generate)
    }

    /// Returns whether any SDK sets `clientCache`, as in `generate.javascriptSdk.clientCache`. Each SDK may be a list
    /// of variants. The rest of `generate` is for SDK generators.
    private static func hasClientCache(_ generate: ConfigurationNode) -> Bool {
        guard case .mapping(let sdks) = generate.kind else { return false }
        return sdks.contains { sdk in
            let variants = if case .sequence(let items) = sdk.value.kind { items } else { [sdk.value] }
            return variants.contains { variant in
                guard case .mapping(let entries) = variant.kind else { return false }
                return entries.contains { $0.key.scalar == "clientCache" && $0.value.scalar != "false" }
            }
        }
    }
}
