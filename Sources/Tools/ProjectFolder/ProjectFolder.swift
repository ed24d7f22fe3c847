import FoundationEssentials
package import SchemaModel

/// Reads a service's folder from disk.
///
///     dataconnect.yaml            serviceId, location, schema.source, connectorDirs
///     schema/**/*.gql             the schema
///     refresh.yaml                optional, which queries refresh without a rule
///     connector/connector.yaml    connectorId
///     connector/**/*.gql          its operations
///     seed.sql                    optional, rows for development
///
/// Files end in `.gql` or `.graphql`; names that begin with a dot are ignored.
package enum ProjectFolder {
    /// The limits of one folder tree.
    package static let filesMax = 5_000
    package static let depthMax = 16
    package static let fileBytesMax = 8 << 20

    /// Reads a project; its warnings are in `Project.warnings`.
    /// - Parameter path: the folder with `dataconnect.yaml`, or its parent if the folder is named `dataconnect`.
    /// - Throws: `CatalogError` with every problem of the layout and configuration, with locations.
    package static func load(_ path: String) throws(CatalogError) -> Project {
        var loader = ProjectLoader()
        let project = loader.load(path)
        try loader.sink.throwIfErrors()
        // Without errors there is a project; throwing avoids a trap if that were wrong.
        guard var project else { throw CatalogError(diagnostics: loader.sink.diagnostics) }
        project.warnings = loader.sink.diagnostics
        return project
    }

    /// The configuration of one connector.
    package struct Connector: Sendable {
        package let id: String
        /// The folder of `connector.yaml`.
        package let folder: String
        package let file: SourceFile
        /// The value of `generate`.
        package let generate: ConfigurationNode?
    }

    /// Reads the configurations of a project's connectors, in the order of `connectorDirs`.
    /// - Throws: as `load`.
    package static func connectors(_ path: String) throws(CatalogError) -> [Connector] {
        var loader = ProjectLoader()
        _ = loader.load(path)
        try loader.sink.throwIfErrors()
        return loader.connectors
    }
}

private struct ProjectLoader {
    var sink = DiagnosticSink()
    private(set) var connectors: [ProjectFolder.Connector] = []
    private let files = FileManager.default

    mutating func load(_ path: String) -> Project? {
        guard let (folder, file) = findConfiguration(path) else { return nil }
        guard let root = YAMLReader.read(file, sink: &sink),
            let configuration = ServiceConfiguration.read(root, in: file, sink: &sink)
        else { return nil }

        var schemaFiles: [SourceFile] = []
        for source in configuration.schemaFolders {
            guard let directory = directory(source, of: folder, in: file, what: "schema") else { continue }
            schemaFiles += graphQLFiles(in: directory)
        }
        if schemaFiles.isEmpty, !sink.hasErrors {
            sink.report(.error, rule: .noSchemaFiles, in: file, "no .gql file in the schema's folder")
        }

        let resolvers = configuration.resolvers.compactMap { resolver -> ResolverSource? in
            guard let directory = directory(resolver.folder, of: folder, in: file, what: "schema") else { return nil }
            return ResolverSource(endpoint: resolver.endpoint, files: graphQLFiles(in: directory))
        }
        var connectors: [ConnectorSource] = []
        if configuration.connectorFolders.isEmpty, !sink.hasErrors {
            sink.report(
                .warning, rule: .noConnectors, in: file,
                "\"connectorDirs\" is empty: clients cannot run any operation")
        }
        for source in configuration.connectorFolders {
            guard let directory = directory(source, of: folder, in: file, what: "connector"),
                let (configuration, connectorFile) = connectorConfiguration(in: directory)
            else { continue }
            let id = configuration.connectorID
            let node = configuration.identifierNode
            self.connectors.append(
                .init(id: id, folder: directory, file: connectorFile, generate: configuration.generate))
            if connectors.contains(where: { $0.id == id }) {
                sink.report(
                    .error, rule: .duplicateConnector,
                    at: connectorFile.range(line: node.line, column: node.column, length: id.count),
                    in: connectorFile, "connectorId \"\(id)\" is already used by another connector")
                continue
            }
            let operations = graphQLFiles(in: directory)
            if operations.isEmpty {
                sink.report(
                    .warning, rule: .noOperations, in: connectorFile, "connector \"\(id)\" has no .gql file")
            }
            connectors.append(
                ConnectorSource(
                    id: id, files: operations, includesEntityIDs: configuration.hasClientCache))
        }
        return Project(
            serviceID: configuration.serviceID, location: configuration.location, schemaFiles: schemaFiles,
            resolvers: resolvers, connectors: connectors, automaticRefresh: automaticRefresh(in: folder),
            seedSQL: read(join(folder, "seed.sql"), isOptional: true)?.text)
    }

    private mutating func findConfiguration(_ path: String) -> (folder: String, file: SourceFile)? {
        guard isDirectory(path) else {
            report(.noFolder, path, "no such folder")
            return nil
        }
        for folder in [path, join(path, "dataconnect")] {
            for name in [ServiceConfiguration.fileName, "dataconnect.yml"] {
                let candidate = join(folder, name)
                guard files.fileExists(atPath: candidate) else { continue }
                return read(candidate).map { (folder, $0) }
            }
        }
        report(.noConfiguration, path, "the folder has no \(ServiceConfiguration.fileName)")
        return nil
    }

    private mutating func automaticRefresh(in folder: String) -> AutomaticRefresh {
        guard let file = read(join(folder, RefreshConfiguration.fileName), isOptional: true),
            // A file without any key, for which YAML has no value.
            !file.text.split(separator: "\n").allSatisfy({
                $0.drop(while: \.isWhitespace).first.map { $0 == "#" } ?? true
            }),
            let root = YAMLReader.read(file, sink: &sink)
        else { return .off }
        return RefreshConfiguration.read(root, in: file, sink: &sink) ?? .off
    }

    private mutating func connectorConfiguration(in directory: String) -> (ConnectorConfiguration, SourceFile)? {
        let path = join(directory, ConnectorConfiguration.fileName)
        guard files.fileExists(atPath: path) else {
            report(.noConfiguration, path, "a connector's folder needs a \(ConnectorConfiguration.fileName)")
            return nil
        }
        guard let file = read(path), let root = YAMLReader.read(file, sink: &sink),
            let configuration = ConnectorConfiguration.read(root, in: file, sink: &sink)
        else { return nil }
        return (configuration, file)
    }

    private mutating func directory(
        _ source: ServiceConfiguration.Folder, of folder: String, in file: SourceFile, what: String
    ) -> String? {
        let path = join(folder, source.path)
        if isDirectory(path) { return path }
        sink.report(
            .error, rule: .noFolder,
            at: file.range(line: source.node.line, column: source.node.column, length: source.path.count), in: file,
            "the \(what) folder \"\(source.path)\" does not exist")
        return nil
    }

    /// Returns all GraphQL files below a folder, sorted by path.
    private mutating func graphQLFiles(in directory: String) -> [SourceFile] {
        var paths: [String] = []
        collect(directory, depth: 0, into: &paths)
        if paths.count > ProjectFolder.filesMax {
            report(.tooManyFiles, directory, "more than \(ProjectFolder.filesMax) files")
            return []
        }
        return paths.sorted().compactMap { read($0) }
    }

    private mutating func collect(_ directory: String, depth: Int, into paths: inout [String]) {
        guard depth <= ProjectFolder.depthMax else {
            report(.tooDeep, directory, "folders are nested deeper than \(ProjectFolder.depthMax)")
            return
        }
        guard let names = try? files.contentsOfDirectory(atPath: directory) else {
            report(.unreadable, directory, "the folder cannot be read")
            return
        }
        for name in names.sorted() where !name.hasPrefix(".") && paths.count <= ProjectFolder.filesMax {
            let path = join(directory, name)
            if isDirectory(path) {
                collect(path, depth: depth + 1, into: &paths)
            } else if name.hasSuffix(".gql") || name.hasSuffix(".graphql") {
                paths.append(path)
            }
        }
    }

    private mutating func read(_ path: String, isOptional: Bool = false) -> SourceFile? {
        if isOptional, !files.fileExists(atPath: path) { return nil }
        guard let data = files.contents(atPath: path) else {
            report(.unreadable, path, "the file cannot be read")
            return nil
        }
        guard data.count <= ProjectFolder.fileBytesMax else {
            report(.tooLarge, path, "the file is larger than \(ProjectFolder.fileBytesMax >> 20) MiB")
            return nil
        }
        return SourceFile(path: path, bytes: Array(data))
    }

    private func isDirectory(_ path: String) -> Bool {
        var isDirectory = false
        return files.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory
    }

    /// Joins paths as a user would type them: without `./` and double slashes.
    private func join(_ folder: String, _ name: String) -> String {
        var rest = name[...]
        while rest.hasPrefix("./") { rest = rest.dropFirst(2).drop { $0 == "/" } }
        while rest.count > 1, rest.hasSuffix("/") { rest.removeLast() }
        if rest.hasPrefix("/") { return String(rest) }
        if rest.isEmpty || rest == "." { return folder }
        return folder.hasSuffix("/") ? folder + rest : "\(folder)/\(rest)"
    }

    private mutating func report(_ rule: Diagnostic.Rule, _ path: String, _ message: String) {
        sink.report(Diagnostic(rule: rule, message: message, file: path, line: 0, column: 0))
    }
}
