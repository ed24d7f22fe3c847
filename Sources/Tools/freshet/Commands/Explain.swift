import ArgumentParser
import Catalog
import Explanation
import JSON
import LiveModel
import Logging
import Migrations
import Operations
import SchemaModel

struct Explain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Explains an operation: its SQL, its rules and their indexes, and what refreshes it.",
        discussion: """
            Without --vars, shows the SQL for a request with every variable, so that it includes every part of a \
            filter. For a mutation, shows its steps and the queries that it refreshes.
            """)

    @Argument(help: "Project folder: dataconnect.yaml, schema and connectors.")
    var project: String

    @Argument(help: "Name of a query or mutation; connector/name if several connectors have one with that name.")
    var operation: String

    @Option(help: "Variables as JSON; shows the SQL for exactly these.")
    var vars: String?

    @Option(
        help:
            "libpq connection string of a database with the schema, which says what native SQL and views read."
    )
    var database: String?

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() async throws {
        let project = ProjectLoading.project(at: project)
        var catalog = ProjectLoading.catalog(of: project, everyMinimumMs: CatalogOptions().everyMinimumMs)
        if let database {
            do {
                let inspected = try await SchemaDatabase(url: database, logger: Logger(label: "freshet.explain"))
                    .inspected(project, catalog, options: CatalogOptions())
                Terminal.report(inspected.diagnostics)
                catalog = inspected.catalog
            } catch {
                Terminal.fail("--database: \(Terminal.reason(error))")
            }
        }
        let stored = try find(in: catalog)
        var variables: JSONObject?
        if let vars {
            guard let object = try? JSONParser.parse(Array(vars.utf8)).objectValue else {
                throw ValidationError("--vars is no JSON object.")
            }
            variables = object
        }
        do throws(RequestError) {
            let explanation = try OperationExplanation(stored, in: catalog, variables: variables)
            Terminal.out(json ? explanation.json.description : explanation.text)
        } catch {
            Terminal.fail(error.message)
        }
    }

    private func find(in catalog: Catalog) throws -> StoredOperation {
        let all = catalog.connectors.values.flatMap(\.operations.values).sorted { $0.reference < $1.reference }
        let parts = operation.split(separator: "/", maxSplits: 1).map(String.init)
        let found = all.filter { stored in
            stored.reference.operation == parts.last
                && (parts.count == 1 || stored.reference.connector == parts.first)
        }
        if let only = found.first, found.count == 1 { return only }
        if found.count > 1 {
            let names = found.map { "\($0.reference)" }.joined(separator: ", ")
            throw ValidationError("Several connectors have it: \(names).")
        }
        let help = DidYouMean.help(parts.last ?? "", among: all.map(\.reference.operation))
        throw ValidationError("The project has no operation \"\(operation)\"." + (help.map { " Hint: \($0)" } ?? ""))
    }
}
