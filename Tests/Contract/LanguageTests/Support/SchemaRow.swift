import Catalog
import Execution
import JSON
import LiveModel
import Migrations
import Operations
import Postgres
import QuerySQL
import SchemaMigration
import SchemaModel
import Testing

/// One row of the schema language: types, what the migration makes of them, and operations on them, in order, each with
/// the JSON text of its `data` or `!` and the beginning of an error's message.
struct SchemaRow: Sendable, CustomTestStringConvertible {
    struct Step: Sendable {
        let operation: String
        let variables: String
        let auth: Auth?
        let result: String

        init(_ operation: String, auth: Auth? = nil, _ result: String) {
            self.init(operation, "{}", auth: auth, result)
        }

        init(_ operation: String, _ variables: String, auth: Auth? = nil, _ result: String) {
            self.operation = LanguageSchema.expand(operation)
            self.variables = LanguageSchema.expand(variables)
            self.auth = auth
            self.result = LanguageSchema.expand(result)
        }
    }

    let name: String
    let sdl: String
    /// Further SQL, after the migration.
    let sql: String
    let steps: [Step]

    init(_ name: String, sdl: String, sql: String = "", steps: [Step]) {
        self.name = name
        self.sdl = sdl
        self.sql = LanguageSchema.expand(sql)
        self.steps = steps
    }

    init(_ name: String, _ sdl: String, sql: String = "", _ steps: Step...) {
        self.init(name, sdl: sdl, sql: sql, steps: steps)
    }

    var testDescription: String { name }

    static let freshUUID = "f0000000-0000-4000-8000-00000000000f"

    private func compile(_ operation: String) throws -> Catalog {
        try Catalog.compile(
            Project(
                serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: sdl)],
                connectors: [ConnectorSource(id: "main", files: [SourceFile(path: "main.gql", text: operation)])]))
    }

    private func stored(_ operation: String) throws -> StoredOperation {
        try #require(try compile(operation).connectors["main"]?.operations.values.first)
    }

    /// - Parameter group: the file in `Golden` that has the SQL; nil: none.
    func check(in group: String?) async throws {
        let schema = try compile(try #require(steps.first).operation).schema
        let statements = Migration.create(schema).map(\.sql)
        var golden = statements
        for step in steps {
            let stored = try stored(step.operation)
            guard let sent = try? stored.coerced(step.variables),
                let texts = try? stored.embeddingTexts(variables: sent)
            else { continue }
            let embeddings = WordEmbeddings.embeddings(of: texts)
            if stored.kind == .query {
                golden.append(
                    try stored.queryCall(
                        variables: sent, auth: step.auth, nowMs: requestMs, embeddings: embeddings
                    ).statement.single)
            } else if let call = try? stored.mutationCall(
                variables: sent, auth: step.auth, nowMs: requestMs, embeddings: embeddings,
                makeUUID: { Self.freshUUID })
            {
                golden += call.steps.map(\.sql)
            }
        }
        if let group { Golden.expect(golden.joined(separator: "\n"), of: name, in: group) }
        let sql = sql
        try await LanguageServer.withOwnDatabase(fill: { pool in
            try await pool.script(ServiceSchema.sql)
            try await pool.script(statements.joined(separator: ";\n"))
            if !sql.isEmpty { try await pool.script(sql) }
            let found = try await pool.databaseDescription()
            let plan = Migration.plan(schema, existing: found)
            #expect(plan.isUpToDate && plan.drift.isEmpty, "\(plan)")
        }) { pool in
            for (number, step) in steps.enumerated() {
                let found = try await run(step, number, pool)
                let isRight = step.result.hasPrefix("!") ? found.hasPrefix(step.result) : found == step.result
                #expect(isRight, "\(step.operation): \(found), expected \(step.result)")
            }
        }
    }

    private func run(_ step: Step, _ number: Int, _ pool: PostgresPool) async throws -> String {
        let stored = try stored(step.operation)
        let variables = try #require(try JSONParser.parse(step.variables).objectValue)
        do throws(RequestError) {
            let sent = try stored.coerce(variables)
            if stored.kind == .query {
                let outcome = try await QueryExecutor(
                    pool: pool, clock: fixedClock, embeddings: WordEmbeddings()
                ).run(
                    stored, variables: sent, auth: step.auth)
                return String(decoding: outcome.answer.body, as: UTF8.self)
            }
            let envelope = MutationExecutor.Envelope(
                eventID: "e0000000-0000-4000-8000-\(100_000_000_000 + number)", traceID: "trace", shards: [ShardID(0)],
                authReads: .nothing, loadedDeployment: 0)
            let outcome = try await MutationExecutor(
                pool: pool, clock: fixedClock, makeUUID: { Self.freshUUID }, embeddings: WordEmbeddings()
            ).run(
                stored, variables: sent, auth: step.auth, envelope: envelope)
            if let error = outcome.errors.first { return "!\(error.message)" }
            return String(decoding: outcome.body, as: UTF8.self)
        } catch {
            return "!\(error.message)"
        }
    }
}
