import Catalog
import CodeGeneration
import Foundation
import ProjectFolder
import SchemaModel

/// Generates the client code that a project asks for: reads and writes the files, and decides nothing.
struct CodeGenerator {
    struct Options {
        /// The targets to generate; empty for all.
        var targets: Set<GenerationTarget> = []
        /// Only tell what would change.
        var isCheck = false
        var isForced = false
        /// Instead of `flavor` of the configuration.
        var swiftFlavor: SwiftOptions.Flavor?
    }

    struct Outcome {
        var diagnostics: [Diagnostic] = []
        /// The changed files, `new`, `changed` or `removed` before each.
        var changes: [String] = []
        var refusals: [String] = []
        var notes: [String] = []
        /// The number of outputs.
        var outputs = 0

        var hasFailed: Bool { !refusals.isEmpty || diagnostics.contains { $0.severity == .error } }
    }

    /// The project's folder.
    let folder: String
    let options: Options

    /// - Parameter catalog: the compiled project, if the caller has it.
    /// - Throws: `CatalogError` if the project does not compile.
    func run(_ project: Project? = nil, _ catalog: Catalog? = nil) throws(CatalogError) -> Outcome {
        let project = if let project { project } else { try ProjectFolder.load(folder) }
        let configurations = try ProjectFolder.connectors(folder)
        var sink = DiagnosticSink()
        var requests: [GenerationRequest] = []
        var folders: [String: String] = [:]
        for configuration in configurations {
            folders[configuration.id] = configuration.folder
            requests += GenerationReader.read(
                configuration.generate, connectorID: configuration.id, in: configuration.file, sink: &sink)
        }
        if let flavor = options.swiftFlavor { requests = requests.map { $0.with(flavor: flavor) } }
        var outcome = Outcome()
        if !sink.hasErrors, !requests.isEmpty {
            let catalog = if let catalog { catalog } else { try Catalog.compile(project) }
            let describer = ConnectorDescriber(catalog)
            let plan = GenerationPlan(
                requests, project.connectors.compactMap(describer.describe), targets: options.targets,
                resolve: { Self.resolve($0, in: folders) }, sink: &sink)
            outcome.outputs = plan.folders.reduce(0) { $0 + $1.files.count }
            if !sink.hasErrors { for folder in plan.folders { apply(folder, &outcome) } }
            outcome.notes += Self.missingDependencies(requests, folders, options.targets)
        }
        outcome.diagnostics = sink.diagnostics
        return outcome
    }

    /// Returns the folder of a request's output; for a single file, with its name.
    private static func resolve(
        _ request: GenerationRequest, in folders: [String: String]
    ) -> (folder: String, file: String?) {
        let path = URL(fileURLWithPath: request.output, relativeTo: base(folders[request.connectorID]))
            .standardizedFileURL
        guard case .tools = request.options else { return (path.path, nil) }
        return (path.deletingLastPathComponent().path, path.lastPathComponent)
    }

    private static func base(_ folder: String?) -> URL { URL(fileURLWithPath: folder ?? ".", isDirectory: true) }

    // MARK: Files

    private func apply(_ folder: GenerationPlan.Folder, _ outcome: inout Outcome) {
        let root = URL(fileURLWithPath: folder.path, isDirectory: true)
        let manifestFile = root.appendingPathComponent(OutputManifest.fileName)
        let manifest = (try? Data(contentsOf: manifestFile)).flatMap { OutputManifest(Array($0)) }
        let names = Set(folder.files.keys).union(folder.others)
        let prefixes = Set(names.compactMap { $0.split(separator: "/").first.map(String.init) })
        // Outputs of other projects in the same folder stay.
        let retired = Set(manifest?.outputs.keys.map { $0 } ?? []).filter { name in
            !names.contains(name) && prefixes.contains { name.hasPrefix("\($0)/") }
        }
        let plan = FolderPlan(
            folder.files, retired: retired, known: manifest, isForced: options.isForced
        ) { path in
            (try? Data(contentsOf: root.appendingPathComponent(path))).map { Array($0) }
        }
        let shown = Self.shown(folder.path)
        outcome.refusals += plan.refusals.map { "\(shown)/\($0)" }
        outcome.notes += plan.kept.map { "\(shown)/\($0) is no longer generated, but was edited: it stays" }
        guard plan.refusals.isEmpty else { return }
        for change in plan.changes {
            switch change {
            case .create: outcome.changes.append("new      \(shown)/\(change.path)")
            case .replace: outcome.changes.append("changed  \(shown)/\(change.path)")
            case .remove: outcome.changes.append("removed  \(shown)/\(change.path)")
            }
        }
        if options.isCheck {
            if plan.changes.isEmpty, plan.changesManifest {
                outcome.changes.append("changed  \(shown)/\(OutputManifest.fileName)")
            }
            return
        }
        do {
            for change in plan.changes { try Self.apply(change, in: root) }
            if plan.changesManifest { try Self.write(plan.manifest.text, to: manifestFile) }
        } catch {
            outcome.refusals.append("\(shown) cannot be written: \(error.localizedDescription)")
        }
    }

    private static func apply(_ change: FolderPlan.Change, in root: URL) throws {
        let file = root.appendingPathComponent(change.path)
        switch change {
        case .create(let generated), .replace(let generated): try write(generated.text, to: file)
        case .remove:
            try FileManager.default.removeItem(at: file)
            removeEmptyFolders(from: file.deletingLastPathComponent(), below: root)
        }
    }

    private static func write(_ text: String, to file: URL) throws {
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file, options: .atomic)
    }

    private static func removeEmptyFolders(from folder: URL, below root: URL) {
        var folder = folder
        while folder.path.hasPrefix(root.path + "/"),
            (try? FileManager.default.contentsOfDirectory(atPath: folder.path))?.isEmpty == true,
            (try? FileManager.default.removeItem(at: folder)) != nil
        {
            folder = folder.deletingLastPathComponent()
        }
    }

    /// The path as seen from the current folder, if it is below.
    private static func shown(_ path: String) -> String {
        let current = FileManager.default.currentDirectoryPath
        return path.hasPrefix(current + "/") ? String(path.dropFirst(current.utf8.count + 1)) : path
    }

    // MARK: Apps

    /// Returns what to do in apps whose `package.json` lacks a generated package (`packageJsonDir`).
    private static func missingDependencies(
        _ requests: [GenerationRequest], _ folders: [String: String], _ targets: Set<GenerationTarget>
    ) -> [String] {
        requests.compactMap { request in
            guard targets.isEmpty || targets.contains(request.target) else { return nil }
            let options: JavaScriptOptions
            switch request.options {
            case .typescript(let given), .adminNode(let given): options = given
            case .swift, .kotlin, .dart, .tools: return nil
            }
            guard let path = options.packageJSONFolder else { return nil }
            let app = URL(fileURLWithPath: path, relativeTo: base(folders[request.connectorID])).standardizedFileURL
            guard let data = try? Data(contentsOf: app.appendingPathComponent("package.json")) else {
                return "\(request.name): \(shown(app.path)) has no package.json (packageJsonDir)"
            }
            let manifest = try? JSONSerialization.jsonObject(with: data) as? [String: Any]
            let isKnown = ["dependencies", "devDependencies"].contains { key in
                (manifest?[key] as? [String: Any])?[options.package] != nil
            }
            let output = resolve(request, in: folders).folder
            return isKnown
                ? nil : "\(options.package) is not installed: npm install --prefix \(shown(app.path)) \(shown(output))"
        }
    }
}

extension GenerationRequest {
    /// The same request with another flavour of Swift; unchanged for other targets.
    fileprivate func with(flavor: SwiftOptions.Flavor) -> GenerationRequest {
        guard case .swift(var options) = self.options else { return self }
        var request = self
        options.flavor = flavor
        request.options = .swift(options)
        return request
    }
}
