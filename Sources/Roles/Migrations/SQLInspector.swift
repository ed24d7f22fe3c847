import Execution
import JSON
package import Postgres
import SQLDependencies
package import SchemaModel

/// Asks Postgres what SQL texts read: in a transaction that is rolled back, each becomes a temporary view, whose stored
/// rule names relations, columns and functions. No text is run.
package enum SQLInspector {
    /// A table that somebody holds for longer leaves its texts unknown.
    private static let lockTimeoutMs = 3_000

    /// - Returns: the findings, and for each other text why it may read anything.
    /// - Throws: `PostgresError` unless it concerns one text only.
    package static func inspect(
        _ texts: [String], _ schema: Schema, _ pool: PostgresPool
    ) async throws -> (reads: SQLReads, refusals: [String: String]) {
        if texts.isEmpty { return (.none, [:]) }
        return try await pool.withSession { session in
            try await session.begin()
            try await session.script("SET LOCAL lock_timeout = \(lockTimeoutMs)")
            var reads = SQLReads.none
            var refusals: [String: String] = [:]
            for text in texts {
                try await session.savepoint("text")
                let outcome: TextInspection.Outcome
                do throws(PostgresError) {
                    outcome = try await inspect(text, schema, session)
                } catch {
                    guard case .server = error.code else { throw error }
                    outcome = .refused("Postgres makes no view of it: \(error.message)")
                }
                try await session.rollback(to: "text")
                switch outcome {
                case .found(let finding): reads.add(finding, of: text)
                case .refused(let reason): refusals[text] = reason
                }
            }
            try await session.rollback()
            return (reads, refusals)
        }
    }

    private static func inspect(
        _ text: String, _ schema: Schema, _ session: PostgresSession
    ) async throws(PostgresError) -> TextInspection.Outcome {
        // Prepared, because Postgres then refuses a text with several statements.
        _ = try await session.execute(
            Statement("CREATE TEMP VIEW freshet_text AS SELECT 1 AS one FROM (\(text)\n) AS r"), [])
        let row = try await session.execute(
            """
            SELECT ev_class::text, ev_action::text FROM pg_rewrite
            WHERE ev_class = 'pg_temp.freshet_text'::regclass AND ev_type = '1'
            """
        ).rows.first
        guard let view = row?.string(0).flatMap({ UInt32($0) }), let rule = row?.string(1) else {
            return .refused("Postgres tells no rule of a view of it")
        }
        var inspection = TextInspection(text: text, rule: rule, view: view, schema: schema)
        while true {
            switch inspection.question {
            case .finished(let outcome): return outcome
            case .relations(let numbers): inspection.relationsRead(try await relations(numbers, session))
            case .functions(let functions, let operators):
                inspection.functionsRead(try await self.functions(functions, operators, session))
            }
        }
    }

    private static func array(_ numbers: Set<UInt32>) -> Parameter {
        .text(PostgresArray.literal(numbers.sorted().map { String($0) }))
    }

    private static func relations(
        _ numbers: Set<UInt32>, _ session: PostgresSession
    ) async throws(PostgresError) -> [UInt32: DatabaseRelation] {
        let rows = try await session.execute(
            Statement(
                """
                SELECT c.oid::text, c.relname, c.relkind, n.nspname = current_schema(), c.relpersistence = 't',
                    c.relrowsecurity, c.relispartition, EXISTS (SELECT FROM pg_inherits WHERE inhparent = c.oid),
                    CASE WHEN c.relkind = 'v' THEN (
                        SELECT ev_action::text FROM pg_rewrite WHERE ev_class = c.oid AND ev_type = '1') END,
                    (SELECT json_agg(json_build_array(attnum, attname, attgenerated <> ''))
                        FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped)::text,
                    \(SQLDefinitions.relationKey), \(SQLDefinitions.relationDigest)
                FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = ANY($1::oid[])
                """), [array(numbers)]
        ).rows
        var found: [UInt32: DatabaseRelation] = [:]
        for row in rows {
            guard let number = row.string(0).flatMap({ UInt32($0) }) else { continue }
            found[number] = DatabaseRelation(
                name: row.string(1) ?? "", kind: row.string(2) ?? "", isInSchema: row.bool(3) ?? false,
                isTemporary: row.bool(4) ?? true, hasRowSecurity: row.bool(5) ?? true,
                isPartition: row.bool(6) ?? true, hasChildren: row.bool(7) ?? true,
                columns: columns(row.string(9) ?? ""), rule: row.string(8),
                definition: (row.string(10) ?? "", row.string(11) ?? ""))
        }
        return found
    }

    private static func columns(_ text: String) -> [Int: DatabaseRelation.Column] {
        var columns: [Int: DatabaseRelation.Column] = [:]
        for item in (try? JSONParser.parse(Array(text.utf8)))?.arrayValue ?? [] {
            guard let parts = item.arrayValue, parts.count == 3, let number = parts[0].intValue,
                let name = parts[1].stringValue
            else { continue }
            columns[Int(number)] = DatabaseRelation.Column(name: name, isGenerated: parts[2].boolValue ?? true)
        }
        return columns
    }

    private static func functions(
        _ functions: Set<UInt32>, _ operators: Set<UInt32>, _ session: PostgresSession
    ) async throws(PostgresError) -> [DatabaseFunction] {
        let rows = try await session.execute(
            Statement(
                """
                WITH used AS (
                    SELECT unnest($1::oid[]) AS oid
                    UNION SELECT oprcode::oid FROM pg_operator WHERE oid = ANY($2::oid[])),
                parts AS (
                    SELECT oid FROM used
                    UNION SELECT part FROM pg_aggregate, unnest(
                        ARRAY[aggtransfn, aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn, aggmtransfn,
                            aggminvtransfn, aggmfinalfn]::oid[]) AS part
                    WHERE aggfnoid::oid IN (SELECT oid FROM used) AND part <> 0)
                SELECT p.oid::regprocedure::text, p.proname, p.oid < 16384, p.prokind = 'a', l.lanname, p.provolatile,
                    (SELECT extname FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
                        WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
                        AND d.refclassid = 'pg_extension'::regclass),
                    CASE WHEN p.oid >= 16384 THEN \(SQLDefinitions.functionKey) END, \(SQLDefinitions.functionDigest)
                FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_language l ON l.oid = p.prolang
                WHERE p.oid IN (SELECT oid FROM parts) ORDER BY p.proname, p.oid
                """), [array(functions), array(operators)]
        ).rows
        return rows.map { row in
            DatabaseFunction(
                signature: row.string(0) ?? "", name: row.string(1) ?? "", isSystem: row.bool(2) ?? false,
                isAggregate: row.bool(3) ?? false, language: row.string(4) ?? "", volatility: row.string(5) ?? "v",
                extensionName: row.string(6), definition: row.string(7).map { ($0, row.string(8) ?? "") })
        }
    }
}
