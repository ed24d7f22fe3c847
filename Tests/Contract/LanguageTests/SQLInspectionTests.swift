import Catalog
import Execution
import Foundation
import LocalServers
import Migrations
import Postgres
import SQLDependencies
import SchemaMigration
import SchemaModel
import Testing

extension Language {
    /// Answers of Postgres about SQL texts.
    @Suite struct SQLInspection {
        private static let schema =
            """
            enum Kind { OPEN CLOSED }
            type Owner @table(key: "id") { id: Int! name: String! born: Date }
            type Lot @table(key: "id") {
              id: Int! title: String! kind: Kind! owner: Owner price: Float tags: [String!] code: String
            }
            type Bid @table(key: ["lot", "number"]) { lot: Lot! number: Int! amount: Int! at: Timestamp! }
            type Guarded @table(key: "id") { id: Int! }
            type Parent @table(key: "id") { id: Int! }
            """

        private static let objects =
            """
            ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
            CREATE TABLE child () INHERITS (parent);
            CREATE TABLE stranger (id int);
            ALTER TABLE lot ADD twice double precision GENERATED ALWAYS AS (price * 2) STORED;
            CREATE VIEW totals AS SELECT lot_id, sum(amount) AS total, count(*) AS bids FROM bid GROUP BY lot_id;
            CREATE VIEW rich AS SELECT l.title, t.total FROM lot l JOIN totals t ON t.lot_id = l.id WHERE t.total > 9;
            CREATE VIEW clock AS SELECT now() AS at, count(*) FROM owner;
            CREATE VIEW top AS SELECT * FROM bid LIMIT 3;
            CREATE MATERIALIZED VIEW kept AS SELECT * FROM bid;
            CREATE FUNCTION plus(a int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN a + 1; END';
            CREATE FUNCTION owners() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT count(*) FROM owner';
            CREATE FUNCTION owners_of(a int) RETURNS SETOF owner LANGUAGE plpgsql STABLE
                AS 'BEGIN RETURN QUERY SELECT * FROM owner; END';
            CREATE FUNCTION noisy() RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 1';
            CREATE FUNCTION state(a int, b int) RETURNS int LANGUAGE sql STABLE
                AS 'SELECT a + b + count(*)::int FROM owner';
            CREATE AGGREGATE tricky(int) (SFUNC = state, STYPE = int, INITCOND = '0');
            CREATE FUNCTION twin(a int, b int) RETURNS boolean LANGUAGE sql STABLE AS 'SELECT a = b';
            CREATE OPERATOR === (LEFTARG = int, RIGHTARG = int, FUNCTION = twin);
            CREATE DOMAIN positive AS int CHECK (VALUE > 0);
            """

        /// `found: table(columns)…; order; time`, or the reason.
        private static func text(_ found: SQLReads.Finding?, _ refusal: String?) -> String {
            guard let found else { return refusal ?? "nothing" }
            let tables = found.tables.map { "\($0.name)(\($0.columns?.joined(separator: " ") ?? "*"))" }
            return tables.joined(separator: " ") + "; \(found.storedOrder)" + (found.readsTime ? "; time" : "")
        }

        private static let texts: [(sql: String, expected: String)] = [
            ("SELECT count(*) AS n FROM bid", "bid(); none"),
            ("SELECT count(*) AS n FROM bid WHERE lot_id = NULL::integer", "bid(lot_id); none"),
            ("SELECT max(amount), min(at) FROM bid WHERE number > 1", "bid(amount at number); none"),
            ("SELECT id, id, title FROM lot ORDER BY id", "lot(id title); order"),
            ("TABLE owner", "owner(born id name); order"),
            ("SELECT o FROM owner o", "owner(*); order"),
            ("SELECT row_to_json(o) AS o, o.id FROM owner o", "owner(*); order"),
            ("SELECT count(o) FROM owner o", "owner(*); none"),
            ("SELECT ctid, id FROM owner", "owner(*); order"),
            ("SELECT 1 AS one", "; none"),
            ("VALUES (1), (2)", "; order"),
            // Joins, also those whose columns are merged, and inner queries.
            (
                "SELECT l.title, b.amount FROM lot l JOIN bid b ON b.lot_id = l.id",
                "bid(amount lot_id) lot(id title); order"
            ),
            (
                "SELECT count(*) FROM bid b JOIN (SELECT id AS lot_id FROM lot) l USING (lot_id)",
                "bid(lot_id) lot(id); none"
            ),
            ("SELECT count(*) FROM owner NATURAL JOIN guarded", "row security applies to guarded"),
            (
                "SELECT l.title FROM lot l WHERE EXISTS (SELECT 1 FROM bid b WHERE b.lot_id = l.id AND b.amount > 3)",
                "bid(amount lot_id) lot(id title); order"
            ),
            ("SELECT (SELECT count(*) FROM bid), (SELECT max(id) FROM lot)", "bid() lot(id); none"),
            (
                "SELECT l.id FROM lot l, LATERAL (SELECT amount FROM bid b WHERE b.lot_id = l.id LIMIT 1) x",
                "bid(amount lot_id) lot(id); rows"
            ),
            (
                "SELECT count(*) FROM lot LEFT JOIN owner ON owner_id = owner.id WHERE owner.born > NULL::date",
                "lot(owner_id) owner(born id); none"
            ),
            ("SELECT id FROM lot UNION SELECT lot_id FROM bid", "bid(lot_id) lot(id); order"),
            ("SELECT id FROM lot EXCEPT ALL SELECT lot_id FROM bid", "bid(lot_id) lot(id); order"),
            // WITH, recursive and unused
            (
                "WITH b AS (SELECT lot_id, amount FROM bid) SELECT sum(amount) FROM b WHERE lot_id > 1",
                "bid(amount lot_id); none"
            ),
            ("WITH unused AS (SELECT born FROM owner) SELECT count(*) FROM lot", "lot() owner(born); none"),
            (
                "WITH RECURSIVE t AS (SELECT id FROM owner WHERE id = 1 UNION ALL SELECT o.id + 1 FROM owner o, t"
                    + " WHERE t.id < 9) SELECT count(*) FROM t", "owner(id); none"
            ),
            // Sets and generated rows
            ("SELECT generate_series(1, id) FROM lot", "lot(id); order"),
            ("SELECT count(*) FROM lot, unnest(tags) AS tag", "lot(tags); none"),
            ("SELECT count(*) FROM generate_series(1, 3)", "; none"),
            ("SELECT count(*) FROM jsonb_to_recordset(NULL::jsonb) AS r(a int, b text)", "; none"),
            // Groups, windows, limits: the order of storage
            ("SELECT lot_id, count(*) FROM bid GROUP BY lot_id", "bid(lot_id); order"),
            ("SELECT price, count(*) FROM lot GROUP BY price", "lot(price); rows"),
            ("SELECT sum(price) FROM lot", "lot(price); rows"),
            ("SELECT string_agg(title, ',') FROM lot", "lot(title); rows"),
            ("SELECT array(SELECT id FROM lot)", "lot(id); rows"),
            ("SELECT row_number() OVER (ORDER BY amount) FROM bid", "bid(amount); rows"),
            ("SELECT title FROM lot LIMIT NULL::integer", "lot(title); rows"),
            ("SELECT DISTINCT ON (kind) kind, title FROM lot", "lot(kind title); rows"),
            ("SELECT count(DISTINCT kind), bool_or(code IS NULL) FROM lot", "lot(code kind); none"),
            ("SELECT count(*) FROM lot GROUP BY GROUPING SETS ((kind), ())", "lot(kind); order"),
            ("SELECT id FROM lot FOR UPDATE", "lot(id); order"),
            // Views
            ("SELECT * FROM totals", "bid(amount lot_id); order"),
            ("SELECT count(*) FROM rich", "bid(amount lot_id) lot(id title); none"),
            ("SELECT count(*) FROM clock", "owner(); none; time"),
            ("SELECT count(*) FROM top", "bid(amount at lot_id number); rows"),
            ("SELECT * FROM kept", "kept is a materialized view"),
            // Generated columns change without being set.
            ("SELECT count(*) FROM lot WHERE twice > 3", "lot(*); none"),
            // Functions and operators
            ("SELECT plus(id) FROM lot", "lot(id); order"),
            ("SELECT lower(title), price::text, to_char(id, '99') FROM lot", "lot(id price title); order"),
            ("SELECT owners()", "the function owners(), written in sql, is not immutable"),
            ("SELECT * FROM owners_of(1)", "the function owners_of(integer), written in plpgsql, is not immutable"),
            ("SELECT id FROM lot WHERE id = noisy()", "the function noisy() is volatile"),
            ("SELECT random()", "the function random() is volatile"),
            ("SELECT tricky(id) FROM lot", "the function state(integer,integer), written in sql, is not immutable"),
            (
                "SELECT id FROM lot WHERE id === 3",
                "the function twin(integer,integer), written in sql, is not immutable"
            ),
            (
                "SELECT query_to_xml('SELECT * FROM owner', true, false, '')",
                "the function query_to_xml(text,boolean,boolean,text) is volatile"
            ),
            (
                "SELECT table_to_xml('owner', true, false, '')",
                "the function table_to_xml(regclass,boolean,boolean,text) reads tables by their names"
            ),
            ("SELECT pg_relation_size('owner')", "the function pg_relation_size(regclass) is volatile"),
            ("SELECT id::positive FROM lot", "it casts to a domain"),
            ("SELECT current_setting('TimeZone'), current_user, id FROM owner WHERE id = 1", "owner(id); order"),
            // Time
            ("SELECT count(*) FROM bid WHERE at > now() - interval '1 day'", "bid(at); none; time"),
            ("SELECT count(*) FROM owner WHERE born < current_date", "owner(born); none; time"),
            ("SELECT count(*) FROM owner WHERE born < 'today'::date", "owner(born); none; time"),
            ("SELECT count(*) FROM owner WHERE age(born) > interval '9 years'", "owner(born); none; time"),
            ("SELECT count(*) FROM bid WHERE at > title::timestamptz", "Postgres makes no view of it"),
            ("SELECT clock_timestamp()", "the function clock_timestamp() is volatile"),
            // Other tables
            ("SELECT * FROM guarded", "row security applies to guarded"),
            ("SELECT * FROM parent", "other tables inherit from parent"),
            ("SELECT * FROM stranger", "no type of the schema is the table stranger"),
            ("SELECT relname FROM pg_class", "it reads a table of Postgres itself"),
            ("SELECT * FROM information_schema.tables", "it reads a table of Postgres itself"),
            ("SELECT id FROM lot TABLESAMPLE BERNOULLI (50)", "it has TABLESAMPLE"),
            ("WITH gone AS (DELETE FROM bid RETURNING *) SELECT count(*) FROM gone", "Postgres makes no view of it"),
            ("SELECT nothing FROM lot", "Postgres makes no view of it"),
            ("SELECT * FROM nowhere", "Postgres makes no view of it"),
        ]

        private static func catalog() throws -> Catalog {
            try Catalog.compile(
                Project(
                    serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: schema)],
                    connectors: [
                        ConnectorSource(
                            id: "main", files: [SourceFile(path: "main.gql", text: "query Q { owners { id } }")])
                    ]))
        }

        private static func fill(_ pool: PostgresPool) async throws {
            try await pool.script(ServiceSchema.sql)
            let statements = Migration.create(try catalog().schema).map(\.sql)
            try await pool.script((statements + [objects]).joined(separator: ";\n"))
        }

        @Test func everyTextIsFoundOrRefused() async throws {
            let schema = try Self.catalog().schema
            try await LanguageServer.withOwnDatabase(fill: Self.fill) { pool in
                let findings = try await SQLInspector.inspect(Self.texts.map(\.sql), schema, pool)
                for (sql, expected) in Self.texts {
                    let found = Self.text(findings.reads[sql], findings.readRefusals[sql])
                    #expect(found == expected || found.hasPrefix(expected + ":"), "\(sql)")
                }
                // Nothing remains.
                let left = try await pool.query("SELECT count(*) FROM pg_class WHERE relname = 'freshet_text'")
                #expect(left.rows.first?.int(0) == 0)
            }
        }

        @Test func changedDefinitionsAreTold() async throws {
            let schema = try Self.catalog().schema
            try await LanguageServer.withOwnDatabase(fill: Self.fill) { pool in
                let text = "SELECT plus(lot_id) FROM totals"
                let findings = try await SQLInspector.inspect([text], schema, pool)
                let known = try #require(findings.reads[text]?.definitions)
                let names = SQLDefinitions.names(of: known.keys)
                #expect(names == ["public.bid", "public.plus(integer)", "public.totals"])
                func changed(_ sql: String) async throws -> [String] {
                    try await pool.script(sql)
                    return SQLDefinitions.names(of: try await SQLDefinitions.changed(since: known, pool))
                }
                #expect(try await changed("ANALYZE bid; INSERT INTO owner VALUES (1, 'a')") == [])
                #expect(try await changed("ALTER TABLE bid ADD further int") == [])
                #expect(
                    try await changed(
                        "CREATE OR REPLACE FUNCTION plus(a int) RETURNS int LANGUAGE sql STABLE AS 'SELECT a'")
                        == ["public.plus(integer)"])
                let other = "SELECT lot_id, sum(amount) AS total, max(id) AS bids FROM bid, owner GROUP BY lot_id"
                #expect(
                    try await changed(
                        "CREATE OR REPLACE VIEW totals AS \(other.replacing("max(id)", with: "count(id)"))")
                        == ["public.plus(integer)", "public.totals"])
                #expect(
                    try await changed("ALTER TABLE bid RENAME TO offer")
                        == ["public.bid", "public.plus(integer)", "public.totals"])
                #expect(
                    try await changed("ALTER TABLE offer RENAME TO bid; ALTER TABLE bid ENABLE ROW LEVEL SECURITY")
                        == ["public.bid", "public.plus(integer)", "public.totals"])
                #expect(
                    try await changed("DROP VIEW rich; DROP VIEW totals; ALTER TABLE bid DISABLE ROW LEVEL SECURITY")
                        == ["public.plus(integer)", "public.totals"])
            }
        }

        @Test func withoutThePrivilegeToMakeTemporaryTablesNothingIsKnown() async throws {
            let schema = try Self.catalog().schema
            try await LanguageServer.withOwnDatabase(fill: Self.fill) { pool in
                let name = try await pool.query("SELECT current_database()").rows.first?.string(0) ?? ""
                try await pool.script(
                    "REVOKE TEMP ON DATABASE \(name) FROM PUBLIC; CREATE ROLE plain_\(name) LOGIN;"
                        + " GRANT SELECT ON ALL TABLES IN SCHEMA public TO plain_\(name)")
                let running = try #require(LanguageServer.current)
                let other = LanguageServer.pool(
                    running.server.connectionString(database: name) + " user=plain_\(name)")
                try await other.start()
                let findings = try await SQLInspector.inspect(["SELECT id FROM owner"], schema, other)
                await other.stop()
                #expect(findings.reads.isEmpty)
                let refusals = findings.readRefusals
                #expect(refusals.values.first?.contains("permission denied") == true, "\(refusals)")
            }
        }
    }
}
