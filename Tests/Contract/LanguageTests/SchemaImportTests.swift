import Catalog
import Execution
import Foundation
import LocalServers
import Migrations
import Postgres
import SchemaMigration
import SchemaModel
import SeededRandom
import TestSupport
import Testing

extension Language {
    /// The schema of an existing database as text, on a real Postgres: a migration to it has nothing to do.
    @Suite struct SchemaImports {
        /// Imports the schema of a database, compiles it, and compares it with the database.
        private static func imported(_ pool: PostgresPool) async throws -> SchemaImport {
            let schema = try await pool.schemaImport()
            #expect(schema.remaining == [], "\(schema.text)")
            let plan = try await MigrationOf.plan(try MigrationOf.schema(schema.text), pool)
            #expect(plan.isUpToDate, "\(plan.steps.map(\.summary)) \(plan.refused.map(\.message))\n\(schema.text)")
            return schema
        }

        private static func create(_ types: String, _ pool: PostgresPool) async throws {
            let statements = Migration.create(try MigrationOf.schema(types)).map(\.sql)
            try await pool.script(statements.joined(separator: ";\n"))
        }

        /// The types of documents that apps begin with.
        private static let movies = """
            enum AspectRatio { ACADEMY WIDESCREEN ANAMORPHIC }
            type Movie @table {
              title: String! @searchable
              imageUrl: String!
              releaseYear: Int
              genre: String @searchable
              rating: Float
              ratios: [AspectRatio!]
              ratio: AspectRatio! @default(value: WIDESCREEN)
              tags: [String!] @index
              description: String @col(dataType: "varchar(2000)")
            }
            type MovieMetadata @table { movie: Movie! @unique director: String }
            type Actor @table { imageUrl: String! name: String! @col(name: "full_name") }
            type MovieActor @table(key: ["movie", "actor"]) { movie: Movie! actor: Actor! role: String! }
            type User @table { id: String! @col(name: "user_auth") username: String! @unique }
            type Review @table(name: "reviews", key: ["movie", "user"]) {
              id: UUID! @default(expr: "uuidV4()")
              user: User! movie: Movie! rating: Int reviewText: String
              reviewDate: Date! @default(expr: "request.time")
              number: Int! @col(dataType: "serial")
            }
            type FavoriteMovie
              @table(
                name: "FavoriteMovies", singular: "favorite_movie", plural: "favorite_movies", key: ["user", "movie"]
              ) {
              user: User! movie: Movie!
            }
            """

        @Test(arguments: ["auctions", "chaos", "movies"])
        func ourOwnSchemasAreReadBackWhole(name: String) async throws {
            let types =
                name == "movies" ? Self.movies : try Repository.text("config/\(name)/schema/schema.gql")
            try await LanguageServer.withOwnDatabase(fill: { try await Self.create(types, $0) }) { pool in
                let schema = try await Self.imported(pool)
                #expect(schema.leftOutCount == 0, "\(schema.text)")
                // With all relations, in their direction and by their names.
                let (mine, theirs) = (try MigrationOf.schema(types), try MigrationOf.schema(schema.text))
                for table in mine.tables {
                    let read = try #require(theirs.tables.first { $0.name == table.name })
                    #expect(Set(read.columns.map(\.name)) == Set(table.columns.map(\.name)))
                    func relations(_ table: Table, _ schema: Schema) -> Set<String> {
                        Set(
                            table.references.map { reference in
                                let target = schema.table(ofType: reference.targetType)?.name ?? ""
                                let isOptional = reference.isNullable
                                return "\(reference.constraintName) \(target) \(reference.isUnique) \(isOptional)"
                            })
                    }
                    #expect(relations(read, theirs) == relations(table, mine))
                    #expect(Set(read.uniques.map(\.name)) == Set(table.uniques.map(\.name)))
                    #expect(Set(read.indexes.map(\.name)) == Set(table.indexes.map(\.name)))
                }
                #expect(theirs.enums.values.map(\.name).sorted() == mine.enums.values.map(\.name).sorted())
            }
        }

        /// Schemas with awkward names and every type of column.
        @Test func generatedSchemasAreReadBack() async throws {
            var random = SeededRandom(seed: 23)
            var (done, attempts) = (0, 0)
            while done < 12 {
                attempts += 1
                try #require(attempts < 300)
                let types = SchemaGenerator.schema(&random)
                guard !types.contains("Vector"), (try? MigrationOf.schema(types)) != nil else { continue }
                try await LanguageServer.withOwnDatabase(fill: { try await Self.create(types, $0) }) { pool in
                    _ = try await Self.imported(pool)
                }
                done += 1
            }
        }

        /// Many tables whose relations cannot be said: what is known beforehand takes no attempts.
        @Test func largeDatabasesAreReadInOneAttempt() async throws {
            let sql = (0..<100).map { number in
                """
                CREATE TABLE t\(number) (
                    id uuid PRIMARY KEY, parent_id uuid REFERENCES t\(number / 2),
                    other_id uuid REFERENCES t\(number / 3));
                """
            }
            let script = sql.joined(separator: "\n")
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(script) }) { pool in
                let schema = try await Self.imported(pool)
                #expect(schema.typeNames.count == 100 && schema.leftOutCount == 200 && schema.attempts == 0)
            }
        }

        /// `freshet init --from`, then `freshet migrate` and `freshet check` on what it wrote.
        @Test func theCommandWritesAProjectThatFits() async throws {
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(Self.odd) }) { pool in
                let folder = try TemporaryFolder()
                let name = try #require(
                    try await pool.query(Statement("SELECT current_database()::text")).rows.first?.string(0))
                let url = try #require(LanguageServer.current).server.connectionString(database: name)
                func run(_ arguments: String...) throws -> (status: Int32, output: String) {
                    let process = Process()
                    process.executableURL = URL(fileURLWithPath: Repository.freshet)
                    process.arguments = arguments
                    process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
                    let pipe = Pipe()
                    (process.standardOutput, process.standardError) = (pipe, pipe)
                    try process.run()
                    let data = pipe.fileHandleForReading.readDataToEndOfFile()
                    process.waitUntilExit()
                    return (process.terminationStatus, String(decoding: data, as: UTF8.self))
                }
                let written = try run("init", "shop", "--from", url)
                #expect(written.status == 0 && written.output.contains("shop/schema/schema.gql"), "\(written.output)")
                #expect(written.output.contains("left out, as comments"), "\(written.output)")
                let migration = try run("migrate", "shop", "--dry-run", "--database", url)
                #expect(migration.status == 0 && migration.output.contains("nothing to do"), "\(migration.output)")
                #expect(try run("check", "shop").status == 0)
                let again = try run("init", "shop", "--from", url)
                #expect(again.status != 0 && again.output.contains("not empty"), "\(again.output)")
                let nobody = try run("init", "other", "--from", "host=/nowhere dbname=none connect_timeout=2")
                #expect(nobody.status != 0, "\(nobody.output)")
            }
        }

        private static let odd = """
            CREATE DOMAIN email AS text CHECK (VALUE LIKE '%@%');
            CREATE TYPE "Mixed Case" AS ENUM ('a b', 'c');
            CREATE TYPE mood AS ENUM ('sad', 'ok');
            CREATE TABLE "Order" (
                "group" integer NOT NULL, "select" text NOT NULL, "Weird Name!" text, "1st" boolean DEFAULT true,
                PRIMARY KEY ("group", "select"));
            CREATE TABLE order_line (
                id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, order_group integer NOT NULL,
                order_select text NOT NULL, price numeric(10,2) NOT NULL DEFAULT 0, amount smallint NOT NULL DEFAULT 1,
                total numeric GENERATED ALWAYS AS (price * amount) STORED,
                FOREIGN KEY (order_group, order_select) REFERENCES "Order" ON DELETE CASCADE);
            CREATE INDEX order_line_order_idx ON order_line (order_group, order_select);
            CREATE TABLE people (
                id uuid PRIMARY KEY DEFAULT gen_random_uuid(), mail email NOT NULL UNIQUE, parent_id uuid,
                friend_id uuid REFERENCES people ON DELETE NO ACTION, feeling mood, other "Mixed Case",
                tags text[] NOT NULL DEFAULT '{}', matrix integer[], born date DEFAULT CURRENT_DATE,
                data jsonb NOT NULL DEFAULT '{"a": [1]}', address inet, lasts interval DEFAULT '1 day',
                at timestamp without time zone DEFAULT now(), code char(3),
                slug text GENERATED ALWAYS AS (lower(mail)) STORED,
                type text, __typename text,
                CONSTRAINT people_parent FOREIGN KEY (parent_id) REFERENCES people ON DELETE SET NULL);
            CREATE INDEX people_parent_idx ON people (parent_id);
            CREATE INDEX people_lower ON people (lower(type));
            CREATE UNIQUE INDEX people_partial ON people (code) WHERE born IS NOT NULL;
            CREATE INDEX people_down ON people (born DESC, at);
            CREATE INDEX people_tags ON people USING gin (tags);
            CREATE INDEX people_hash ON people USING hash (type);
            CREATE TABLE no_key (a integer, b text);
            CREATE TABLE event (id uuid NOT NULL, day date NOT NULL, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
            CREATE TABLE event_2026 PARTITION OF event FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
            CREATE VIEW adults AS SELECT id, mail AS "The Mail", feeling FROM people;
            CREATE MATERIALIZED VIEW counts AS SELECT type, count(*) AS total FROM people GROUP BY type;
            CREATE TABLE boss (id integer PRIMARY KEY, deputy integer REFERENCES boss (id));
            """

        /// Composite keys, relations to the same table, quoted names, reserved words, domains, partitions, arrays,
        /// computed columns.
        @Test func oddDatabasesAreReadAndTheRestIsExplained() async throws {
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(Self.odd) }) { pool in
                let text = try await Self.imported(pool).text
                for line in [
                    #"type Order @table(name: "Order", key: ["group", "select"])"#,
                    #"order: Order! @ref(fields: ["orderGroup", "orderSelect"], references: ["group", "select"]"#,
                    #"mail: String! @col(dataType: "email")"#, #"parent: People @ref(fields: ["parentId"]"#,
                    #"weirdName: String @col(name: "Weird Name!")"#, "feeling: Mood", "enum Mood {",
                    #"other: String @col(dataType: "\"Mixed Case\"")"#,
                    #"price: Float! @col(dataType: "numeric(10,2)")"#, "tags: [String!]! @default(value: [])",
                    #"@index(fields: ["born", "at"], name: "people_down", order: [DESC, ASC])"#,
                    #"@index(fields: ["tags"], name: "people_tags", type: GIN)"#,
                    "type Event @table(key: [\"id\", \"day\"])", "type Adult @view(name: \"adults\")",
                    #"theMail: String @col(name: "The Mail""#, "type Count @view(name: \"counts\")",
                    #"id: Int64! @col(dataType: "bigserial")"#,
                ] {
                    #expect(
                        text.split(separator: "\n").contains { $0.drop { $0 == " " }.hasPrefix(line) },
                        "\(line)\n\(text)")
                }
                for (comment, reason) in [
                    (#"# friend: People @ref("#, "ON DELETE"), ("# slug:", "computed by Postgres"),
                    ("# total:", "computed by Postgres"), ("# @unique \"people_partial\"", "only some rows"),
                    ("# @index \"people_lower\"", "expressions"), ("# @index \"people_hash\"", "hash"),
                    ("# Left out:", "no primary key"), ("# The enum \"Mixed Case\"", "texts"),
                ] {
                    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
                    let index = try #require(
                        lines.firstIndex { $0.drop { $0 == " " }.hasPrefix(comment) }, "\(comment)\n\(text)")
                    #expect(
                        lines[index..<min(index + 2, lines.count)].contains { $0.contains(reason) },
                        "\(reason)\n\(text)")
                }
                #expect(!text.contains("event_2026"))
            }
        }
    }
}
