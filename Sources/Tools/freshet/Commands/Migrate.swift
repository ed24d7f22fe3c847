import ArgumentParser
import Catalog
import Execution
import LiveModel
import Logging
import Migrations
import Postgres
import SchemaMigration
import SchemaModel
import Settings

struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Migrates the database to the project's schema: adds what is missing, refuses to lose data.",
        discussion: """
            --force and --drop-extras allow more; possible losses are printed first, with the number of rows. \
            --dry-run only prints the changes. Keys and sequences are never changed. The database is postgres.url of \
            the settings, or that of --database.
            """)

    @Argument(help: "Project folder: dataconnect.yaml, schema and connectors.")
    var project: String

    @Flag(help: "Print the changes without making them.")
    var dryRun = false

    @Flag(
        help: """
            Build indexes while others write (CREATE INDEX CONCURRENTLY; for a partitioned table, partition by \
            partition), rebuild search indexes whose definition changed, and validate foreign keys (VALIDATE \
            CONSTRAINT): slower, and not all or nothing. Steps that need a table's lock yield to writers and retry \
            (settings `migrate`).
            """)
    var concurrently = false

    @Flag(
        help: """
            Also change types, make columns required, and replace indexes, UNIQUE constraints with their names and \
            foreign keys whose definition changed. Rewrites tables, and may lose data that a new type cannot hold.
            """)
    var force = false

    @Flag(help: "Drop tables, columns and enums that the schema does not have, with all their data.")
    var dropExtras = false

    @Flag(help: "Load the project's seed.sql if the database is empty.")
    var seed = false

    @Option(help: "libpq connection string of the database, instead of the setting postgres.url.")
    var database: String?

    @OptionGroup var options: SettingsOptions

    func run() async {
        // This process opens no admin port, so it needs no admin.token, even if nodes share its settings.
        let further = ["cluster.roles=api"] + (self.database.map { ["postgres.url=\($0)"] } ?? [])
        let settings = options.load(.serve, further: further).settings
        _ = Observation.start(settings)
        let project = ProjectLoading.project(at: project)
        let catalog = ProjectLoading.catalog(of: project, everyMinimumMs: settings.worker.everyMinimumMs)
        guard let url = settings.postgres.url else { Terminal.fail("no database: give --database or set postgres.url") }
        let database = SchemaDatabase(url: url, logger: Logger(label: "freshet.migrate"))
        var permissions: Migration.Permissions = []
        if force { permissions.insert(.rewrites) }
        if dropExtras { permissions.insert(.drops) }
        if concurrently { permissions.insert(.concurrent) }
        do {
            try await database.pool.start()
            if dryRun {
                let plan = try await database.plan(catalog.schema, allowing: permissions)
                Self.report(losses: try await database.losses(of: plan))
                for step in plan.steps {
                    let sql = concurrently ? step.concurrentSQL : SQLStatement.together([step])
                    let notes = concurrently ? step.concurrentNotes.map { "-- \($0)\n" }.joined() : ""
                    Terminal.out("\(step.summary)\n\(notes)\(sql.joined(separator: ";\n"));\n")
                }
                for finding in plan.drift { Terminal.error("drift: \(finding.object): \(finding.message)") }
                let publications = try await ChangePublications.plan(
                    catalog.captured, holdsEvents: settings.outbox.kind == .wal, database.pool)
                for step in publications { Terminal.out("\(step.summary)\n\(step.sql);\n") }
                if plan.isUpToDate, publications.isEmpty { Terminal.out("nothing to do") }
                guard plan.refused.isEmpty else { throw await database.refused(plan, catalog.schema) }
            } else {
                var done = try await database.migrate(
                    catalog.schema,
                    retries: concurrently ? .givingWay(settings.migrate) : .insisting(settings.migrate),
                    allowing: permissions
                ) { event in
                    if case .planned(_, let losses) = event { Self.report(losses: losses) }
                    for line in event.lines { Terminal.error(line) }
                }
                try await database.pool.script(ServiceSchema.sql)
                done += try await ChangePublications.publish(
                    catalog.captured, holdsEvents: settings.outbox.kind == .wal, database.pool)
                for line in done { Terminal.out(line) }
                if seed, let sql = project.seedSQL, try await database.isEmpty(catalog.schema) {
                    try await database.pool.script(sql)
                    Terminal.out("load seed.sql")
                }
                Terminal.out(done.isEmpty ? "nothing to do" : "\(done.count) changes made")
            }
        } catch {
            await database.pool.stop()
            Terminal.fail(Terminal.reason(error))
        }
        await database.pool.stop()
    }

    private static func report(losses: [String]) {
        for loss in losses { Terminal.error("may lose: \(loss)") }
    }
}
