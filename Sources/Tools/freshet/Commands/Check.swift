import ArgumentParser
import Catalog
import CodeGeneration
import JSON
import LiveModel
import Migrations
import Node
import Operations
import ProjectFolder
import SchemaModel

struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Compiles a project folder and reports every problem.",
        discussion: """
            Exit code 0 if there is no error; warnings alone do not fail. Warnings named refresh-… and missing-index \
            are advice about stale results and slow queries. --watch checks again after every change, until Ctrl-C.
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json, sarif
    }

    @Argument(help: "Project folder: dataconnect.yaml, schema and connectors.")
    var project: String?

    @Flag(help: "Only list the rules, with one sentence about each.")
    var listRules = false

    @Option(help: "Output format of the problems.")
    var format: Format = .text

    @Flag(help: "Instead of a summary, print one JSON line for each operation: name, kind, text and documentId.")
    var documents = false

    @Flag(help: "Omit advice.")
    var noLints = false

    @Flag(help: "Fail on warnings, too.")
    var warningsAsErrors = false

    @Option(
        help:
            """
            libpq connection string of a database with the schema and real data: Postgres says which queries read \
            whole tables, and what native SQL and views read.
            """
    )
    var database: String?

    @Flag(help: "Check again whenever a file changes.")
    var watch = false

    func validate() throws {
        if project == nil, !listRules { throw ValidationError("Give a project folder.") }
    }

    func run() async throws {
        guard let project, !listRules else {
            for rule in Diagnostic.Rule.allCases.sorted(by: { $0.rawValue < $1.rawValue }) {
                Terminal.out("\(rule): \(rule.sentence)")
            }
            return
        }
        guard watch else {
            if await check(project) { return }
            throw ExitCode(1)
        }
        await FolderWatch.performAgain(with: project) { _ = await check(project) }
    }

    /// - Returns: whether the check passed.
    private func check(_ folder: String) async -> Bool {
        var diagnostics: [Diagnostic] = []
        var summary = ""
        do throws(CatalogError) {
            let project = try ProjectFolder.load(folder)
            let catalog = try Catalog.compile(project, options: CatalogOptions())
            diagnostics = catalog.warnings
            for connector in try ProjectFolder.connectors(folder) {
                var sink = DiagnosticSink()
                _ = GenerationReader.read(
                    connector.generate, connectorID: connector.id, in: connector.file, sink: &sink)
                diagnostics += sink.diagnostics
            }
            if !noLints { diagnostics += await lints(catalog, project) }
            let operations = catalog.connectors.values.flatMap(\.operations.values)
            if self.documents {
                for operation in operations.sorted(by: { $0.reference < $1.reference }) {
                    Terminal.out(String(decoding: JSONWriter.compact(Self.document(operation)), as: UTF8.self))
                }
            }
            let queries = operations.count { $0.kind == .query }
            summary =
                "\(catalog.schema.tables.count) tables, \(queries) queries, \(operations.count - queries) mutations"
        } catch {
            diagnostics = error.diagnostics
        }
        let errors = diagnostics.count { $0.severity == .error }
        let warnings = diagnostics.count { $0.severity == .warning }
        switch format {
        case .json: Terminal.out(DiagnosticRenderer.json(diagnostics).description)
        case .sarif: Terminal.out(SARIFRenderer.log(diagnostics, version: ClusterFormat.release).description)
        case .text:
            if !diagnostics.isEmpty {
                Terminal.report(diagnostics)
            }
            if errors == 0, !documents { Terminal.out("ok: \(summary)") }
        }
        return errors == 0 && !(warningsAsErrors && warnings > 0)
    }

    private func lints(_ catalog: Catalog, _ project: Project) async -> [Diagnostic] {
        let lints = catalog.lints
        guard let url = database else { return lints }
        do {
            let found = try await DatabaseLint.findings(catalog, project, options: CatalogOptions(), url: url)
            // Postgres' plans are more reliable than a guess from the schema.
            return found.diagnostics + found.catalog.lints.filter { $0.rule != .missingIndex }
        } catch {
            Terminal.error("--database: \(Terminal.reason(error))")
            return lints
        }
    }

    /// Returns an operation's JSON: its name, kind and text, and the document id that clients may send instead of that.
    private static func document(_ operation: StoredOperation) -> JSONValue {
        [
            "connector": .string(operation.reference.connector), "name": .string(operation.reference.operation),
            "kind": .string(operation.kind.rawValue),
            "documentId": .string("sha256:" + Digest(of: operation.text.utf8).hex), "text": .string(operation.text),
        ]
    }
}
