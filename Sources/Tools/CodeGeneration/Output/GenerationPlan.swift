package import SchemaModel

/// The outputs that requests ask for, by folder, with the files of each.
package struct GenerationPlan: Sendable {
    package struct Folder: Sendable {
        /// The path that the caller resolved.
        package var path: String
        /// The generated files by the name of their request, relative to `path`.
        package var files: [String: [GeneratedFile]]
        /// The names of further requests of this project for the folder, which were not asked for this time.
        package var others: Set<String>
    }

    /// The folders, in order of path.
    package private(set) var folders: [Folder] = []

    /// - Parameters:
    ///   - requests: all of the project.
    ///   - resolve: returns the path of a request's output folder, and that of its file in it for `llmTools`.
    ///   - targets: those asked for; empty for all.
    package init(
        _ requests: [GenerationRequest], _ connectors: [ConnectorDescription], targets: Set<GenerationTarget>,
        resolve: (GenerationRequest) -> (folder: String, file: String?), sink: inout DiagnosticSink
    ) {
        var byPath: [String: Folder] = [:]
        var owners: [String: GenerationRequest] = [:]
        for request in requests {
            let (path, fileName) = resolve(request)
            guard targets.isEmpty || targets.contains(request.target) else {
                byPath[path, default: Folder(path: path, files: [:], others: [])].others.insert(request.name)
                continue
            }
            guard let connector = connectors.first(where: { $0.id == request.connectorID }) else { continue }
            if !Self.checkNames(of: connector, for: request, sink: &sink) { continue }
            var files = CodePrinter.files(for: request, connector)
            if let fileName { files = files.map { GeneratedFile(fileName, $0.text) } }
            for file in files {
                if let other = owners.updateValue(request, forKey: "\(path)/\(file.path)") {
                    sink.report(
                        .error, rule: .configurationValue, at: request.node, in: request.file,
                        "\(request.name) and \(other.name) would both write \(path)/\(file.path)",
                        help: "give each a folder of its own")
                    break
                }
            }
            byPath[path, default: Folder(path: path, files: [:], others: [])].files[request.name] = files
        }
        folders = byPath.values.filter { !$0.files.isEmpty }.sorted { $0.path < $1.path }
    }

    /// Reports operations whose names in generated code are equal, such as `getMovie` and `GetMovie`.
    private static func checkNames(
        of connector: ConnectorDescription, for request: GenerationRequest, sink: inout DiagnosticSink
    ) -> Bool {
        guard request.target != .tools else { return true }
        var taken: [String: String] = [:]
        var isSound = true
        for operation in connector.operations {
            let name = Naming.pascal(operation.name)
            if let other = taken.updateValue(operation.name, forKey: name) {
                isSound = false
                sink.report(
                    .error, rule: .generatedNameClash, at: request.node, in: request.file,
                    "the operations \"\(other)\" and \"\(operation.name)\" have the same name in generated code,"
                        + " \"\(name)\"")
            }
        }
        return isSound
    }
}
