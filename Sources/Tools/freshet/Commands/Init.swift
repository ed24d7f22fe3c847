import ArgumentParser
import Foundation
import Logging
import Migrations
import Postgres
import ProjectFolder
import SchemaMigration
import SchemaModel

struct Init: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Writes a small new project: a list of tasks, or the schema of an existing database.",
        discussion: """
            Without --from, the project is a list of tasks, with queries that refresh without a rule. With --from, its \
            schema is that of an existing database (tables of the Postgres schema public, keys, relations, enums, \
            indexes, defaults, views), which is only read: freshet migrate then has nothing to do. What the language \
            of schemas cannot say stands there as comments, with the reason.
            """)

    @Argument(help: "Folder of the new project; it must be empty or missing.")
    var project: String

    @Option(help: "Id of the service and its connector; by default the name of the folder.")
    var service: String?

    @Option(help: "libpq connection string or URL of an existing database.")
    var from: String?

    func run() async {
        let service = service ?? URL(fileURLWithPath: project).standardizedFileURL.lastPathComponent
        guard let from else { return writeExample(service) }
        do {
            // Before the database is asked.
            _ = try NewProject(serviceID: service)
            let database = SchemaDatabase(url: from, logger: Logger(label: "freshet.init"))
            try await database.pool.start()
            let schema = try await database.pool.schemaImport()
            await database.pool.stop()
            let query = schema.typeNames.first.map(Self.query)
            for file in try NewProject(serviceID: service, schema: schema.text, query: query).write(to: project) {
                Terminal.out("\(project)/\(file)")
            }
            let left = schema.leftOutCount
            Terminal.error(
                "\n\(schema.typeNames.count) types; \(left == 0 ? "nothing" : "\(left) things")"
                    + " left out, as comments in \(project)/schema/schema.gql")
            for change in schema.remaining { Terminal.error("not solved: \(change)") }
            Terminal.error("Now: freshet migrate \(project) --dry-run --database '…'")
        } catch let error as PostgresError {
            Terminal.fail("the database cannot be read: \(error)")
        } catch {
            Terminal.fail("\(error)")
        }
    }

    /// A query that nobody may run until its author decides who may.
    private static func query(of typeName: String) -> String {
        let singular = GeneratedNames.singular(ofType: typeName)
        return """
            # A query to begin with. NO_ACCESS: nobody may run it; say who may (PUBLIC, USER, or an expression).
            query List\(typeName) @auth(level: NO_ACCESS) {
              \(EnglishPlural.of(singular))(limit: 100) { __typename }
            }

            """
    }

    private func writeExample(_ service: String) {
        do {
            let files = try NewProject(serviceID: service).write(to: project)
            for file in files { Terminal.out("\(project)/\(file)") }
            Terminal.error("\nNow: freshet dev \(project)\n     freshet subscribe Tasks --vars '{\"list\": \"home\"}'")
            Terminal.error("     freshet execute AddTask --vars '{\"list\": \"home\", \"title\": \"Try Freshet\"}'")
        } catch {
            Terminal.fail("\(error)")
        }
    }
}
