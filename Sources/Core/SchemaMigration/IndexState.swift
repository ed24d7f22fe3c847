import JSON
import SchemaModel

/// The current indexes of the table of a `ConcurrentBuild` and of its partitions.
package struct IndexState: Sendable, Hashable {
    package struct Index: Sendable, Hashable {
        var name: String
        /// Whether it matches the table's definition. Of a partition's index: whether Postgres would attach it to the
        /// parent index, for which the sort direction is irrelevant.
        var fits: Bool
        var isValid: Bool
        /// Whether it is not attached to any other index.
        var isLoose: Bool
        /// Whether it is not part of an index of the whole table: unattached, or attached to a partition's index.
        var isFree: Bool
        /// The process that is building it.
        var builder: Int?
    }

    package struct Table: Sendable, Hashable {
        var name: QualifiedName
        var kind: Partition.Kind
        /// The indexes in the order in which Postgres searches for one to attach.
        var indexes: [Index]

        func index(_ name: String) -> Index? { indexes.first { $0.name == name } }
    }

    /// The table and all its partitions, outermost first; empty if the table does not exist.
    package var tables: [Table]

    /// Parses the result of `ConcurrentBuild.stateSQL`.
    package init(parsing text: String) throws(DatabaseDescription.FormatError) {
        guard let root = (try? JSONParser.parse(text))?.arrayValue else {
            throw DatabaseDescription.FormatError(path: "")
        }
        tables = []
        for (position, json) in root.enumerated() {
            guard let namespace = json["namespace"]?.stringValue, let name = json["name"]?.stringValue,
                let kind = json["kind"]?.stringValue.flatMap(Partition.Kind.init(rawValue:)),
                let found = json["indexes"]?.arrayValue
            else { throw DatabaseDescription.FormatError(path: "[\(position)]") }
            let indexes = found.compactMap(Index.init)
            guard indexes.count == found.count else {
                throw DatabaseDescription.FormatError(path: "[\(position)].indexes")
            }
            tables.append(
                Table(name: QualifiedName(namespace: namespace, name: name), kind: kind, indexes: indexes))
        }
    }
}

extension IndexState.Index {
    fileprivate init?(_ json: JSONValue) {
        guard let name = json["name"]?.stringValue, let fits = json["fits"]?.boolValue,
            let isValid = json["valid"]?.boolValue, let isLoose = json["loose"]?.boolValue,
            let isFree = json["free"]?.boolValue
        else { return nil }
        self.init(
            name: name, fits: fits, isValid: isValid, isLoose: isLoose, isFree: isFree,
            builder: json["builder"]?.stringValue.flatMap { Int($0) })
    }
}

extension ConcurrentBuild {
    /// Creates an empty table with an index of the definition, to learn how Postgres normalises it. Run it in a
    /// transaction that is rolled back.
    package var modelSQL: String {
        let model = QualifiedName(namespace: table.namespace, name: Self.modelName)
        return "CREATE TABLE \(model.quoted) (LIKE \(table.quoted));\n"
            + "CREATE \(what) \(SQLName.quoted(Self.modelName + "_idx")) ON \(model.quoted)\(definition)"
    }

    /// Returns one row with one text for `stateSQL`; run it after `modelSQL`.
    package var modelDefinitionSQL: String {
        let name = QualifiedName(namespace: table.namespace, name: Self.modelName + "_idx")
        return
            "SELECT (\(Self.comparedSQL))::text FROM pg_catalog.pg_index i"
            + " JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid"
            + " WHERE i.indexrelid = pg_catalog.to_regclass(\(SQLName.literal(name.quoted)))"
    }

    private static let modelName = "freshet_index_model"

    /// The properties of the index `i` with its relation `c` that determine whether Postgres attaches it; the last
    /// element is one that Postgres ignores.
    private static let comparedSQL = """
        pg_catalog.jsonb_build_array(
          i.indisunique, coalesce(pg_catalog.to_jsonb(i) ->> 'indnullsnotdistinct', 'false'), c.relam, i.indnkeyatts,
          (SELECT pg_catalog.jsonb_agg(pg_catalog.pg_get_indexdef(i.indexrelid, k, false) ORDER BY k)
            FROM pg_catalog.generate_series(1, i.indnatts::int) k),
          (SELECT pg_catalog.jsonb_agg(o.opcfamily ORDER BY k.position)
            FROM pg_catalog.unnest(i.indclass::oid[]) WITH ORDINALITY AS k(class, position)
            JOIN pg_catalog.pg_opclass o ON o.oid = k.class),
          i.indcollation::text, pg_catalog.pg_get_expr(i.indpred, i.indrelid), i.indoption::text)
        """

    /// Returns one row with one text, which `IndexState` parses.
    /// - Parameter model: the result of `modelDefinitionSQL`.
    package func stateSQL(model: String) -> String {
        let table = "pg_catalog.to_regclass(\(SQLName.literal(self.table.quoted)))"
        let desired = "\(SQLName.literal(model))::jsonb"
        return """
            SELECT coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
              'namespace', n.nspname, 'name', r.relname, 'kind', r.relkind,
              'indexes', coalesce((
                SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                  'name', c.relname, 'valid', i.indisvalid,
                  'fits', CASE WHEN r.oid = \(table) THEN \(Self.comparedSQL) = \(desired)
                    ELSE \(Self.comparedSQL) - -1 = \(desired) - -1 END,
                  'loose', NOT c.relispartition,
                  'free', NOT c.relispartition OR (
                    SELECT h.indrelid <> \(table) FROM pg_catalog.pg_index h
                    WHERE h.indexrelid = pg_catalog.pg_partition_root(i.indexrelid)),
                  'builder', \(Migration.builderSQL)::text) ORDER BY c.oid)
                FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
                WHERE i.indrelid = r.oid), '[]'::jsonb)
            ) ORDER BY t.level, n.nspname, r.relname), '[]'::jsonb)::text
            FROM (
              SELECT \(table)::oid AS id, 0 AS level
              UNION ALL SELECT relid::oid, level FROM pg_catalog.pg_partition_tree(\(table)) WHERE level > 0) t
            JOIN pg_catalog.pg_class r ON r.oid = t.id
            JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace
            """
    }
}

extension Migration {
    /// The process that is creating or reindexing the index `i` concurrently; null if there is none. A role that cannot
    /// see which index a process works on still sees which table it has locked.
    static let builderSQL = """
        CASE WHEN NOT i.indisvalid THEN (
          SELECT min(p.pid) FROM pg_catalog.pg_stat_progress_create_index p
          JOIN pg_catalog.pg_locks l ON l.pid = p.pid AND l.database = p.datid
          WHERE l.relation = i.indrelid AND l.granted AND l.mode = 'ShareUpdateExclusiveLock'
            AND coalesce(p.index_relid = i.indexrelid OR p.command LIKE 'REINDEX%', true)) END
        """
}
