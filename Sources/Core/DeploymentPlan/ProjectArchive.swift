import GraphQLLanguage
import JSON
package import LiveModel
package import SchemaModel

/// The text form of a project that is stored with a deployment, and the digest that identifies it.
///
///     {"connectors":[{"entityIds":false,"files":[{"path":…,"text":…}],"id":…}],
///      "location":…,"schema":[…],"serviceId":…}
///
/// Paths are relative to the common folder of all files, so the same files are the same version in any location. Seed
/// rows and warnings are not included. What a database says of its SQL is.
package struct ProjectArchive: Sendable {
    /// Maximum size of `text` in bytes.
    package static let bytesMax = 16 << 20

    package struct Failure: Error, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// The project with archived paths.
    package let project: Project
    /// Canonical JSON.
    package let text: String
    package let version: Digest

    package init(_ project: Project) {
        var project = project
        let files =
            project.schemaFiles + project.resolvers.flatMap(\.files) + project.connectors.flatMap(\.files)
        let prefix = Self.sharedFolder(files.map(\.path))
        func shortened(_ file: SourceFile) -> SourceFile {
            SourceFile(path: String(file.path.dropFirst(prefix.count)), bytes: file.source.bytes)
        }
        project.schemaFiles = project.schemaFiles.map(shortened)
        project.resolvers = project.resolvers.map {
            ResolverSource(endpoint: $0.endpoint, files: $0.files.map(shortened))
        }
        project.connectors = project.connectors.map {
            .init(id: $0.id, files: $0.files.map(shortened), includesEntityIDs: $0.includesEntityIDs)
        }
        project.seedSQL = nil
        project.warnings = []
        let bytes = Self.json(project).canonicalBytes
        self.project = project
        self.text = String(decoding: bytes, as: UTF8.self)
        self.version = Digest(of: bytes)
    }

    /// - Throws: if the text is not in the format that this type writes.
    package init(parsing text: String) throws(Failure) {
        let value: JSONValue
        do {
            value = try JSONParser.parse(Array(text.utf8))
        } catch {
            throw Failure(description: "the stored project is not JSON: \(error)")
        }
        guard let serviceID = value["serviceId"]?.stringValue, let location = value["location"]?.stringValue,
            let schema = Self.files(value["schema"]), let connectors = value["connectors"]?.arrayValue
        else { throw Failure(description: "the stored project has another format") }
        var sources: [ConnectorSource] = []
        for connector in connectors {
            guard let id = connector["id"]?.stringValue, let files = Self.files(connector["files"]) else {
                throw Failure(description: "the stored project has a connector of another format")
            }
            let includesEntityIDs = connector["entityIds"]?.boolValue ?? false
            sources.append(ConnectorSource(id: id, files: files, includesEntityIDs: includesEntityIDs))
        }
        let resolvers = try (value["resolvers"]?.arrayValue ?? []).map { item throws(Failure) in
            guard let resolver = Self.resolver(item) else {
                throw Failure(description: "the stored project has a custom resolver of another format")
            }
            return resolver
        }
        guard let automatic = Self.automaticRefresh(value["automaticRefresh"]) else {
            throw Failure(description: "the stored project has automatic refreshes of another format")
        }
        guard let sqlReads = value["sqlReads"].map({ SQLReads(json: $0) }) ?? SQLReads.none,
            let sqlWrites = value["sqlWrites"].map({ SQLWrites(json: $0) }) ?? SQLWrites.none
        else {
            throw Failure(description: "the stored project has findings about its SQL of another format")
        }
        var project = Project(
            serviceID: serviceID, location: location, schemaFiles: schema, resolvers: resolvers, connectors: sources,
            automaticRefresh: automatic)
        project.sqlReads = sqlReads
        project.sqlWrites = sqlWrites
        self.init(project)
    }

    private static func json(_ project: Project) -> JSONValue {
        func files(_ files: [SourceFile]) -> JSONValue {
            .array(files.map { ["path": .string($0.path), "text": .string($0.text)] })
        }
        var object: JSONObject = [
            "serviceId": .string(project.serviceID), "location": .string(project.location),
            "schema": files(project.schemaFiles),
            "connectors": .array(
                project.connectors.sorted { $0.id < $1.id }.map {
                    [
                        "id": .string($0.id), "files": files($0.files), "entityIds": .bool($0.includesEntityIDs),
                    ]
                }),
        ]
        // Omitted if empty, so that versions from before resolvers existed keep their digests.
        if !project.resolvers.isEmpty {
            object["resolvers"] = .array(
                project.resolvers.map {
                    [
                        "id": .string($0.endpoint.id), "uri": .string($0.endpoint.uri),
                        "timeoutMs": .int(Int64($0.endpoint.timeoutMs)), "files": files($0.files),
                    ]
                })
        }
        // Likewise.
        if project.automaticRefresh != .off {
            var automatic: JSONObject = [
                "mode": .string(project.automaticRefresh.mode.rawValue),
                "overrides": .array(
                    project.automaticRefresh.overrides.map { [.string($0.pattern), .string($0.mode.rawValue)] }),
            ]
            if project.automaticRefresh.source != .mutations {
                automatic["source"] = .string(project.automaticRefresh.source.rawValue)
            }
            object["automaticRefresh"] = .object(automatic)
        }
        if !project.sqlReads.isEmpty { object["sqlReads"] = project.sqlReads.json }
        if !project.sqlWrites.isEmpty { object["sqlWrites"] = project.sqlWrites.json }
        return .object(object)
    }

    private static func automaticRefresh(_ value: JSONValue?) -> AutomaticRefresh? {
        guard let value else { return .off }
        guard let mode = value["mode"]?.stringValue.flatMap(AutomaticRefresh.Mode.init(rawValue:)),
            let stored = value["overrides"]?.arrayValue,
            let source = AutomaticRefresh.Source(
                rawValue: value["source"]?.stringValue ?? AutomaticRefresh.Source.mutations.rawValue)
        else { return nil }
        let overrides = stored.compactMap { item -> AutomaticRefresh.Override? in
            guard let parts = item.arrayValue, parts.count == 2, let pattern = parts[0].stringValue,
                let mode = parts[1].stringValue.flatMap(AutomaticRefresh.Mode.init(rawValue:))
            else { return nil }
            return AutomaticRefresh.Override(pattern: pattern, mode: mode)
        }
        return overrides.count == stored.count
            ? AutomaticRefresh(mode: mode, source: source, overrides: overrides) : nil
    }

    private static func resolver(_ value: JSONValue) -> ResolverSource? {
        guard let id = value["id"]?.stringValue, let uri = value["uri"]?.stringValue,
            let timeoutMs = value["timeoutMs"]?.intValue, let files = files(value["files"])
        else { return nil }
        return ResolverSource(
            endpoint: ResolverEndpoint(id: id, uri: uri, timeoutMs: Int(timeoutMs)), files: files)
    }

    private static func files(_ value: JSONValue?) -> [SourceFile]? {
        guard let elements = value?.arrayValue else { return nil }
        var files: [SourceFile] = []
        for element in elements {
            guard let path = element["path"]?.stringValue, let text = element["text"]?.stringValue else { return nil }
            files.append(SourceFile(path: path, text: text))
        }
        return files
    }

    /// Returns the common folder with its slash; empty if there is none.
    private static func sharedFolder(_ paths: [String]) -> String {
        guard var shared = paths.first.map({ $0.split(separator: "/", omittingEmptySubsequences: false).dropLast() })
        else { return "" }
        for path in paths.dropFirst() {
            let folders = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            shared = shared.prefix(zip(shared, folders).prefix { $0 == $1 }.count)
        }
        return shared.isEmpty ? "" : shared.joined(separator: "/") + "/"
    }
}

extension Digest {
    /// A short form of a version's digest for people.
    package var shortHex: String { String(hex.prefix(12)) }
}
