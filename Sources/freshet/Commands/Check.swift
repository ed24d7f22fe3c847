internal import ArgumentParser
internal import Catalog
internal import JSON
internal import LiveModel

struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Compiles a project folder and tells every problem.",
        discussion: "Exit code 0 when there is no error; warnings alone do not fail.")

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json
    }

    @Argument(help: "Project folder: dataconnect.yaml, schema and connectors.")
    var project: String

    @Option(help: "How problems are printed.")
    var format: Format = .text

    @Flag(help: "Instead of a summary, one JSON line for each operation: name, kind, text and documentId.")
    var documents = false

    func run() throws {
        var diagnostics: [Diagnostic] = []
        var summary = ""
        do throws(CatalogError) {
            let project = try ProjectLoading.load(project)
            let catalog = try Catalog.compile(project, options: CatalogOptions())
            diagnostics = project.warnings + catalog.warnings
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
        switch format {
        case .json:
            Terminal.out(DiagnosticRenderer.json(diagnostics).description)
        case .text:
            if !diagnostics.isEmpty {
                Terminal.error(DiagnosticRenderer(usesColor: Terminal.usesColor).render(diagnostics))
            }
            if errors == 0, !documents { Terminal.out("ok: \(summary)") }
        }
        if errors > 0 { throw ExitCode(1) }
    }

    /// What a client may send in place of the text.
    private static func document(_ operation: StoredOperation) -> JSONValue {
        [
            "connector": .string(operation.reference.connector), "name": .string(operation.reference.operation),
            "kind": .string(operation.kind.rawValue),
            "documentId": .string("sha256:" + Digest(of: operation.text.utf8).hex), "text": .string(operation.text),
        ]
    }
}
