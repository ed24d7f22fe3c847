import Catalog
import Execution
import LocalServers
import Migrations
import Postgres
import SchemaMigration
import SchemaModel
import Testing

extension Language {
    /// Answers of Postgres about what native SQL of mutations writes.
    @Suite struct SQLWriteInspection {
        private static let schema =
            """
            type Owner @table(key: "id") { id: Int! name: String! born: Date }
            type Lot @table(key: "id") { id: Int! title: String! owner: Owner price: Float }
            type Bid @table(key: ["lot", "number"]) { lot: Lot! number: Int! amount: Int! }
            """

        private static let objects =
            """
            ALTER TABLE lot ADD twice double precision GENERATED ALWAYS AS (price * 2) STORED;
            CREATE TABLE plain (id int PRIMARY KEY, n int DEFAULT 1, m int);
            CREATE TABLE serial (id serial, at timestamptz DEFAULT now(), key uuid DEFAULT gen_random_uuid());
            CREATE VIEW totals AS SELECT lot_id, sum(amount) AS total FROM bid GROUP BY lot_id;
            CREATE VIEW shown AS SELECT * FROM plain;
            CREATE FUNCTION plus(a int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN a + 1; END';
            CREATE FUNCTION noisy() RETURNS int LANGUAGE sql VOLATILE AS 'DELETE FROM bid; SELECT 1';
            CREATE FUNCTION sly() RETURNS int LANGUAGE sql STABLE AS 'SELECT noisy()';
            CREATE VIEW sly AS SELECT sly() AS n;
            CREATE TABLE defaulted (id int, n int DEFAULT noisy());
            CREATE TABLE checked (id int, CHECK (noisy() = id));
            CREATE FUNCTION calm(a int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT a';
            CREATE TABLE indexed (id int);
            CREATE INDEX ON indexed (calm(id));
            ALTER FUNCTION calm(int) VOLATILE;
            CREATE TABLE ordered (id int, n int);
            CREATE INDEX ON ordered (id) WHERE plus(n) > 0;
            CREATE DOMAIN positive AS int CHECK (VALUE > 0);
            CREATE TABLE narrow (id int, n positive);
            CREATE TABLE ruled (id int);
            CREATE RULE r AS ON DELETE TO ruled DO ALSO DELETE FROM bid;
            CREATE TABLE parent (id int);
            CREATE TABLE child () INHERITS (parent);
            CREATE TABLE heir (id int);
            CREATE TABLE spare (id int);
            CREATE TABLE split (id int) PARTITION BY RANGE (id);
            CREATE TABLE part PARTITION OF split FOR VALUES FROM (0) TO (9);
            CREATE TABLE guarded (id int);
            ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
            CREATE SCHEMA other;
            CREATE TABLE other.far (id int);
            -- Keys that no type tells
            CREATE TABLE renamed (id int PRIMARY KEY, code text UNIQUE, note text);
            CREATE TABLE follower (
                id int PRIMARY KEY, code text REFERENCES renamed (code) ON UPDATE CASCADE,
                up int REFERENCES renamed ON DELETE SET NULL);
            CREATE TABLE second (id int REFERENCES follower ON DELETE CASCADE, n int DEFAULT 3 REFERENCES renamed
                ON DELETE SET DEFAULT);
            CREATE TABLE loop (id int PRIMARY KEY, up int REFERENCES loop ON DELETE CASCADE);
            CREATE TABLE top (id int PRIMARY KEY);
            CREATE TABLE far_child (id int, top int REFERENCES top ON DELETE CASCADE, n int DEFAULT noisy());
            CREATE TABLE last (id int PRIMARY KEY);
            CREATE TABLE narrow_child (id int, last int REFERENCES last ON DELETE CASCADE, n positive)
            """

        private static func fill(_ pool: PostgresPool) async throws {
            try await pool.script(ServiceSchema.sql)
            let statements = Migration.create(try catalog().schema).map(\.sql)
            try await pool.script((statements + [objects]).joined(separator: ";\n"))
        }

        private static func catalog() throws -> Catalog {
            try Catalog.compile(
                Project(
                    serviceID: "writes", schemaFiles: [SourceFile(path: "schema.gql", text: schema)], connectors: []))
        }

        /// `table: insert, delete, update(columns)`, or the reason.
        private static func text(_ found: SQLWrites.Finding?, _ refusal: String?) -> String {
            guard let found else { return refusal ?? "nothing" }
            return found.tables.map { table in
                let updates: String? =
                    switch table.updates {
                    case .none: nil
                    case .columns(let names): "update(\(names.joined(separator: " ")))"
                    case .anyColumn: "update(*)"
                    }
                let kinds = [table.inserts ? "insert" : nil, table.deletes ? "delete" : nil, updates]
                return "\(table.name): \(kinds.compactMap { $0 }.joined(separator: ", "))"
            }.joined(separator: "; ")
        }

        private static let texts: [(sql: String, expected: String)] = [
            ("UPDATE bid SET amount = amount + 1 WHERE lot_id = NULL::integer", "bid: update(amount)"),
            ("DELETE FROM bid USING lot WHERE lot.id = bid.lot_id AND lot.title = 'a'", "bid: delete"),
            ("INSERT INTO owner (id, name) VALUES (NULL::integer, 'a') RETURNING id", "owner: insert"),
            (
                "INSERT INTO owner (id, name) SELECT id, title FROM lot ON CONFLICT (id) DO UPDATE"
                    + " SET name = excluded.name",
                "owner: insert, update(name)"
            ),
            (
                "WITH gone AS (DELETE FROM bid WHERE amount < 3 RETURNING lot_id)"
                    + " UPDATE plain SET m = 1 WHERE id IN (SELECT lot_id FROM gone)",
                "bid: delete; plain: update(m)"
            ),
            (
                "MERGE INTO plain p USING lot l ON l.id = p.id WHEN MATCHED AND l.id > 3 THEN DELETE"
                    + " WHEN MATCHED THEN UPDATE SET m = l.id WHEN NOT MATCHED THEN INSERT (id) VALUES (l.id)",
                "plain: insert, delete, update(m)"
            ),
            // What Postgres computes is set, too.
            ("UPDATE lot SET title = 'x'", "lot: update(*)"),
            // A lock sets nothing, a text may write nothing.
            ("SELECT id FROM owner FOR UPDATE", ""),
            ("SELECT count(*) FROM pg_stat_activity", ""),
            ("SELECT pg_advisory_xact_lock(1)", ""),
            // Defaults and functions that write nothing
            ("INSERT INTO serial DEFAULT VALUES", "serial: insert"),
            ("INSERT INTO owner VALUES (1, gen_random_uuid()::text, now())", "owner: insert"),
            ("UPDATE owner SET name = 'a' FROM totals WHERE totals.lot_id = owner.id", "owner: update(name)"),
            ("UPDATE owner SET name = plus(1)::text /* end */", "owner: update(name)"),
            ("INSERT INTO narrow SELECT 1, n::int::positive FROM narrow", "narrow: insert"),
            ("DELETE FROM last", "last: delete; narrow_child: delete"),
            // A lock sets nothing, whatever it locks.
            ("SELECT id FROM split FOR UPDATE", ""),
            ("SELECT id FROM shown FOR UPDATE", ""),
            // Rows that follow by foreign keys, those of the schema and others
            ("DELETE FROM lot", "bid: delete; lot: delete"),
            ("DELETE FROM owner", "lot: update(*); owner: delete"),
            ("UPDATE owner SET id = 3", "owner: update(id)"),
            ("UPDATE renamed SET code = 'x'", "follower: update(code); renamed: update(code)"),
            ("UPDATE renamed SET note = 'x'", "renamed: update(note)"),
            ("UPDATE renamed SET id = 7", "renamed: update(id)"),
            ("DELETE FROM renamed", "follower: update(up); renamed: delete; second: update(n)"),
            ("DELETE FROM follower", "follower: delete; second: delete"),
            ("DELETE FROM loop", "loop: delete"),
            // Whatever may write more
            ("UPDATE owner SET name = noisy()::text", "the function noisy() is volatile, so it may write"),
            ("UPDATE owner SET name = sly()::text", "the function sly() is not immutable, so it may call one"),
            ("UPDATE owner SET name = sly.n::text FROM sly", "the function sly() is not immutable, so it may call one"),
            ("SELECT query_to_xml('SELECT noisy()', true, true, '')", "the function query_to_xml(text,boolean,boolean"),
            ("SELECT * FROM ts_stat('SELECT noisy()')", "the function ts_stat(text) is volatile"),
            ("INSERT INTO defaulted (id) VALUES (1)", "the function noisy() is volatile"),
            ("UPDATE checked SET id = 1", "the function noisy() is volatile"),
            ("DELETE FROM top", "the function noisy() is volatile"),
            ("DELETE FROM indexed", "the function calm(integer) is volatile"),
            ("DELETE FROM shown", "it writes through the view shown"),
            ("DELETE FROM ruled", "ruled has rules"),
            ("DELETE FROM parent", "other tables inherit from parent"),
            ("DELETE FROM child", "child inherits from another table"),
            ("DELETE FROM split", "split has partitions"),
            ("DELETE FROM part", "part is a partition"),
            ("UPDATE plain SET m = 1 FROM guarded", "row security applies to guarded"),
            ("DELETE FROM other.far", "far is in another Postgres schema"),
            ("UPDATE pg_description SET description = ''", "it writes a table of Postgres itself"),
            ("TRUNCATE bid", "Postgres makes no function of it"),
            ("UPDATE nobody SET a = 1", "Postgres makes no function of it"),
            ("DELETE FROM bid; END; DROP TABLE bid", "Postgres makes no function of it"),
            ("CALL nothing()", "Postgres makes no function of it"),
        ]

        @Test func everyTextIsFoundOrRefused() async throws {
            let schema = try Self.catalog().schema
            try await LanguageServer.withOwnDatabase(fill: Self.fill) { pool in
                let findings = try await SQLInspector.inspect([], written: Self.texts.map(\.sql), schema, pool)
                for (sql, expected) in Self.texts {
                    let refusal = findings.writeRefusals[sql]
                    let found = Self.text(findings.writes[sql], refusal)
                    #expect(found == expected || refusal != nil && found.hasPrefix(expected), "\(sql)")
                }
                #expect(SQLWrites(json: findings.writes.json) == findings.writes)
                let left = try await pool.query(
                    """
                    SELECT to_regclass('bid') IS NOT NULL
                        AND NOT EXISTS (SELECT FROM pg_proc WHERE proname = 'freshet_text')
                    """)
                #expect(left.rows.first?.bool(0) == true)
            }
        }

        /// Changes of the database after which a text may write more.
        private static let changes: [(text: String, statement: String)] = [
            ("DELETE FROM bid", "CREATE TABLE b (l int, n int, FOREIGN KEY (l, n) REFERENCES bid ON DELETE CASCADE)"),
            ("DELETE FROM lot", "CREATE TABLE c (l int, n int, FOREIGN KEY (l, n) REFERENCES bid ON DELETE CASCADE)"),
            ("INSERT INTO plain (id) VALUES (1)", "ALTER TABLE plain ALTER n SET DEFAULT noisy()"),
            ("UPDATE plain SET m = 1", "ALTER TABLE plain ADD CHECK (noisy() > m)"),
            ("UPDATE plain SET m = plus(m)", "ALTER FUNCTION plus(int) VOLATILE"),
            ("UPDATE plain SET m = 2", "CREATE RULE x AS ON UPDATE TO plain DO ALSO DELETE FROM bid"),
            ("UPDATE plain SET m = 3", "ALTER TABLE plain ENABLE ROW LEVEL SECURITY"),
            ("UPDATE plain SET m = 4", "ALTER TABLE plain RENAME TO simple"),
            ("UPDATE serial SET at = now()", "ALTER TABLE serial ADD g int GENERATED ALWAYS AS (id + 1) STORED"),
            ("UPDATE serial SET id = 1", "CREATE TABLE later () INHERITS (serial)"),
            ("DELETE FROM heir", "CREATE DOMAIN late AS int CHECK (VALUE > noisy())"),
            (
                "UPDATE plain SET m = 9",
                "CREATE FUNCTION text(a lot) RETURNS text LANGUAGE sql AS 'SELECT noisy()::text';"
                    + "CREATE CAST (lot AS text) WITH FUNCTION text(lot)"
            ),
            ("UPDATE ordered SET n = 1", "ALTER FUNCTION plus(int) VOLATILE"),
            (
                "UPDATE renamed SET note = 'x'",
                "ALTER TABLE renamed RENAME code TO old; ALTER TABLE renamed RENAME note TO code;"
                    + "ALTER TABLE renamed RENAME old TO note"
            ),
            ("UPDATE spare SET id = 1", "ALTER TABLE spare INHERIT parent"),
            ("DELETE FROM renamed", "DROP TABLE renamed CASCADE"),
            (
                "UPDATE owner SET id = 1",
                "ALTER TABLE lot DROP CONSTRAINT lot_owner_id_fkey, ADD FOREIGN KEY (owner_id) REFERENCES owner"
                    + " ON UPDATE CASCADE"
            ),
        ]

        @Test func changesOfWhatWritingEntailsAreTold() async throws {
            let schema = try Self.catalog().schema
            try await LanguageServer.withOwnDatabase(fill: Self.fill) { pool in
                for (text, statement) in Self.changes {
                    let findings = try await SQLInspector.inspect([], written: [text], schema, pool)
                    #expect(findings.writeRefusals.isEmpty, "\(findings.writeRefusals)")
                    let known = findings.writes.definitions
                    // Foreign keys that change nothing, and defaults that call Postgres' functions, do not count.
                    try await pool.script(
                        """
                        CREATE TABLE IF NOT EXISTS unrelated (id int REFERENCES renamed, n int DEFAULT random() * 9);
                        ALTER TABLE unrelated ADD IF NOT EXISTS lot int REFERENCES lot
                        """)
                    #expect(try await SQLDefinitions.changed(since: known, pool).isEmpty, "\(text)")
                    try await pool.script(statement)
                    #expect(try await !SQLDefinitions.changed(since: known, pool).isEmpty, "\(statement)")
                    try await pool.script("DROP DOMAIN IF EXISTS late")
                    if text.contains("plain") {
                        try await pool.script(
                            """
                            DROP CAST IF EXISTS (lot AS text);
                            ALTER FUNCTION plus(int) IMMUTABLE;
                            DROP TABLE IF EXISTS plain, simple CASCADE;
                            CREATE TABLE plain (id int PRIMARY KEY, n int DEFAULT 1, m int)
                            """)
                    }
                }
            }
        }
    }
}
