internal import ArgumentParser
internal import Catalog
internal import JSON

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

    func run() throws {
        var diagnostics: [Diagnostic] = []
        var summary = ""
        do throws(CatalogError) {
            let project = try ProjectLoading.load(project)
            let catalog = try Catalog.compile(project, options: CatalogOptions())
            diagnostics = project.warnings + catalog.warnings
            let operations = catalog.connectors.values.flatMap(\.operations.values)
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
            if errors == 0 { Terminal.out("ok: \(summary)") }
        }
        if errors > 0 { throw ExitCode(1) }
    }
}
