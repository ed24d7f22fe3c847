import Execution
import JSON
package import Postgres
import SQLDependencies
package import SchemaModel

/// Asks Postgres what SQL texts read: in a transaction that is rolled back, each becomes a temporary view, whose stored
/// rule names relations, columns and functions. A mutation's text becomes the body of a temporary function. No text is
/// run.
package enum SQLInspector {
    package struct Findings: Sendable {
        package var reads = SQLReads.none
        /// Why the other texts of queries may read anything, as part of a sentence.
        package var readRefusals: [String: String] = [:]
        package var writes = SQLWrites.none
        /// Why the other texts of mutations may write anything, as part of a sentence.
        package var writeRefusals: [String: String] = [:]
    }

    /// A table that somebody holds for longer leaves its texts unknown.
    private static let lockTimeoutMs = 3_000

    /// - Parameters:
    ///   - texts: those of queries and views.
    ///   - written: those of mutations.
    /// - Throws: `PostgresError` unless it concerns one text only.
    package static func inspect(
        _ texts: [String], written: [String] = [], _ schema: Schema, _ pool: PostgresPool
    ) async throws -> Findings {
        if texts.isEmpty, written.isEmpty { return Findings() }
        return try await pool.withSession { session in
            try await session.begin()
            try await session.script("SET LOCAL lock_timeout = \(lockTimeoutMs)")
            var findings = Findings()
            for text in texts {
                let found = try await outcome(session) { () async throws(PostgresError) in
                    try await inspect(text, schema, session)
                }
                switch found {
                case .success(.found(let finding)): findings.reads.add(finding, of: text)
                case .success(.refused(let reason)): findings.readRefusals[text] = reason
                case .failure(let error): findings.readRefusals[text] = "Postgres makes no view of it: \(error.message)"
                }
            }
            let common = try await common(session)
            for text in written {
                let found = try await outcome(session) { () async throws(PostgresError) in
                    try await inspectWrites(text, common, session)
                }
                switch found {
                case .success(.found(let finding)): findings.writes.add(finding, of: text)
                case .success(.refused(let reason)): findings.writeRefusals[text] = reason
                case .failure(let error):
                    findings.writeRefusals[text] = "Postgres makes no function of it: \(error.message)"
                }
            }
            try await session.rollback()
            return findings
        }
    }

    /// Inspects in a transaction of which nothing remains.
    /// - Returns: a failure if the server refuses the text.
    /// - Throws: other errors.
    private static func outcome<Outcome>(
        _ session: PostgresSession, _ inspect: () async throws(PostgresError) -> Outcome
    ) async throws(PostgresError) -> Result<Outcome, PostgresError> {
        try await session.savepoint("text")
        let outcome: Result<Outcome, PostgresError>
        do throws(PostgresError) {
            outcome = .success(try await inspect())
        } catch {
            guard case .server = error.code else { throw error }
            outcome = .failure(error)
        }
        try await session.rollback(to: "text")
        return outcome
    }

    /// - Returns: nil if the answer is not understood.
    private static func common(_ session: PostgresSession) async throws(PostgresError) -> WriteInspection.Common? {
        let row = try await session.execute(
            Statement(
                """
                SELECT to_json(ARRAY(\(SQLDefinitions.domainChecks)))::text,
                    to_json(ARRAY(\(SQLDefinitions.castFunctions)))::text, \(SQLDefinitions.commonDigest)
                """), []
        ).rows.first
        func strings(_ column: Int) -> [String]? {
            let list: JSONValue? = row?.string(column).flatMap { try? JSONParser.parse(Array($0.utf8)) }
            guard let strings = list?.arrayValue?.map(\.stringValue), !strings.contains(nil) else { return nil }
            return strings.compactMap { $0 }
        }
        guard let expressions = strings(0), let casts = strings(1), let digest = row?.string(2) else { return nil }
        return WriteInspection.Common(
            expressions: expressions, functions: Set(casts.compactMap { UInt32($0) }),
            definition: (SQLDefinitions.commonKey, digest))
    }

    private static func inspectWrites(
        _ text: String, _ common: WriteInspection.Common?, _ session: PostgresSession
    ) async throws(PostgresError) -> WriteInspection.Outcome {
        guard let common else { return .refused("the database's domains and casts cannot be read") }
        // Postgres stores such a body parsed, and one in a string as text.
        _ = try await session.execute(
            Statement(
                "CREATE FUNCTION pg_temp.freshet_text() RETURNS void LANGUAGE sql BEGIN ATOMIC \(text)\n; END"), [])
        let row = try await session.execute(
            """
            SELECT prosqlbody::text FROM pg_proc
            WHERE proname = 'freshet_text' AND pronamespace = pg_my_temp_schema()
            """
        ).rows.first
        guard let body = row?.string(0) else { return .refused("Postgres tells no body of a function of it") }
        var inspection = WriteInspection(body: body, common)
        while true {
            switch inspection.question {
            case .finished(let outcome): return outcome
            case .relations(let numbers): inspection.relationsRead(try await relations(numbers, session))
            case .functions(let functions, let operators):
                inspection.functionsRead(try await self.functions(functions, operators, session))
            }
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
                    \(SQLDefinitions.relationKey), \(SQLDefinitions.relationDigest),
                    c.relhasrules, to_json(ARRAY(\(SQLDefinitions.expressions)))::text,
                    (SELECT json_agg(json_build_array(conrelid::bigint, conkey, confkey, confdeltype, confupdtype))
                        FROM pg_constraint WHERE confrelid = c.oid AND contype = 'f')::text,
                    \(SQLDefinitions.writingKey), \(SQLDefinitions.writingDigest),
                    EXISTS (SELECT FROM pg_inherits WHERE inhrelid = c.oid)
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
                definition: (row.string(10) ?? "", row.string(11) ?? ""), writing: writing(row))
        }
        return found
    }

    /// - Returns: nil if an answer is not understood.
    private static func writing(_ row: Row) -> DatabaseRelation.Writing? {
        func list(_ column: Int) -> [JSONValue]? {
            guard let text = row.string(column) else { return [] }
            return (try? JSONParser.parse(Array(text.utf8)))?.arrayValue
        }
        func numbers(_ value: JSONValue) -> [Int] { (value.arrayValue ?? []).compactMap(\.intValue).map { Int($0) } }
        guard let expressions = list(13)?.map(\.stringValue), !expressions.contains(nil), let keys = list(14),
            let key = row.string(15), let digest = row.string(16)
        else { return nil }
        var references: [DatabaseRelation.Reference] = []
        for item in keys {
            guard let parts = item.arrayValue, parts.count == 5,
                let child = parts[0].intValue.flatMap({ UInt32(exactly: $0) }),
                let onDelete = parts[3].stringValue.flatMap(DatabaseRelation.Action.init),
                let onUpdate = parts[4].stringValue.flatMap(DatabaseRelation.Action.init)
            else { return nil }
            references.append(
                DatabaseRelation.Reference(
                    child: child, childColumns: numbers(parts[1]), columns: numbers(parts[2]), onDelete: onDelete,
                    onUpdate: onUpdate))
        }
        return DatabaseRelation.Writing(
            hasRules: row.bool(12) ?? true, hasParents: row.bool(17) ?? true,
            expressions: expressions.compactMap { $0 }, references: references, definition: (key, digest))
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
