import SchemaModel

/// The query that describes a database from Postgres' catalog.
package enum CatalogQuery {
    /// Returns a statement without parameters that yields one row with one column: the JSON text that
    /// `DatabaseDescription(parsing:)` reads. Works for every role that can read the catalog, on Postgres 12 and later.
    package static func sql(in namespace: String = "public") -> String {
        """
        WITH space AS (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(SQLName.literal(namespace)))
        SELECT pg_catalog.json_build_object(
          'tables', coalesce((
            SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
              'name', r.relname,
              'columns', coalesce((
                SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
                  'name', a.attname,
                  'type', CASE
                    WHEN t.typtype = 'e' THEN t.typname
                    WHEN e.typtype = 'e' THEN e.typname || '[]'
                    ELSE pg_catalog.format_type(a.atttypid, a.atttypmod) END,
                  'nullable', NOT a.attnotnull,
                  'default', CASE
                    WHEN a.attidentity <> '' THEN 'identity'
                    WHEN a.attgenerated <> '' THEN 'generated'
                    ELSE pg_catalog.pg_get_expr(d.adbin, d.adrelid) END
                ) ORDER BY a.attnum)
                FROM pg_catalog.pg_attribute a
                JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
                LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
                LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
                WHERE a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped), '[]'::json),
              'key', coalesce((
                SELECT pg_catalog.json_agg(a.attname ORDER BY k.position)
                FROM pg_catalog.pg_index i
                CROSS JOIN LATERAL pg_catalog.unnest(i.indkey) WITH ORDINALITY AS k(number, position)
                JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum = k.number
                WHERE i.indrelid = r.oid AND i.indisprimary AND k.position <= i.indnkeyatts), '[]'::json),
              'keyIncludes', coalesce((
                SELECT pg_catalog.json_agg(a.attname ORDER BY k.position)
                FROM pg_catalog.pg_index i
                CROSS JOIN LATERAL pg_catalog.unnest(i.indkey) WITH ORDINALITY AS k(number, position)
                JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum = k.number
                WHERE i.indrelid = r.oid AND i.indisprimary AND k.position > i.indnkeyatts), '[]'::json),
              'indexes', coalesce((
                SELECT pg_catalog.json_agg(\(indexSQL) ORDER BY c.relname)
                FROM pg_catalog.pg_index i
                JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
                JOIN pg_catalog.pg_am m ON m.oid = c.relam
                WHERE i.indrelid = r.oid AND NOT i.indisprimary AND i.indisvalid), '[]'::json),
              'indexConstraints', coalesce((
                SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
                  'index', c.relname, 'kind', o.contype, 'name', o.conname, 'table', t.relname
                ) ORDER BY c.relname, t.relname, o.conname)
                FROM pg_catalog.pg_index i
                JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
                JOIN pg_catalog.pg_constraint o ON o.conindid = c.oid
                JOIN pg_catalog.pg_class t ON t.oid = o.conrelid
                WHERE i.indrelid = r.oid AND (o.contype <> 'f' OR o.conparentid = 0)), '[]'::json),
              'foreignKeys', coalesce((
                SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
                  'name', f.conname,
                  'columns', (
                    SELECT pg_catalog.json_agg(a.attname ORDER BY k.position)
                    FROM pg_catalog.unnest(f.conkey) WITH ORDINALITY AS k(number, position)
                    JOIN pg_catalog.pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.number),
                  'target', g.relname,
                  'targetColumns', (
                    SELECT pg_catalog.json_agg(a.attname ORDER BY k.position)
                    FROM pg_catalog.unnest(f.confkey) WITH ORDINALITY AS k(number, position)
                    JOIN pg_catalog.pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = k.number),
                  'onDelete', CASE f.confdeltype
                    WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'r' THEN 'RESTRICT'
                    WHEN 'd' THEN 'SET DEFAULT' ELSE 'NO ACTION' END,
                  'onUpdate', CASE f.confupdtype
                    WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'r' THEN 'RESTRICT'
                    WHEN 'd' THEN 'SET DEFAULT' ELSE 'NO ACTION' END,
                  'fullMatch', f.confmatchtype = 'f', 'deferrable', f.condeferrable, 'deferred', f.condeferred,
                  'unchecked', NOT f.convalidated AND pg_catalog.to_jsonb(f) ->> 'conenforced' IS DISTINCT FROM 'false'
                ) ORDER BY f.conname)
                FROM pg_catalog.pg_constraint f
                JOIN pg_catalog.pg_class g ON g.oid = f.confrelid
                WHERE f.conrelid = r.oid AND f.contype = 'f'), '[]'::json),
              'invalidIndexes', coalesce((
                SELECT pg_catalog.json_agg(c.relname ORDER BY c.relname)
                FROM pg_catalog.pg_index i
                JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
                WHERE i.indrelid = r.oid AND NOT i.indisvalid AND \(Migration.builderSQL) IS NULL), '[]'::json),
              'indexBuilders', coalesce((
                SELECT pg_catalog.json_object_agg(c.relname, \(Migration.builderSQL)::text)
                FROM pg_catalog.pg_index i
                JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
                WHERE i.indrelid = r.oid AND NOT i.indisvalid AND \(Migration.builderSQL) IS NOT NULL), '{}'::json),
              'partitioning', CASE WHEN r.relkind = 'p' THEN (
                SELECT pg_catalog.json_build_object(
                  'columns', coalesce(
                    pg_catalog.json_agg(DISTINCT a.attname) FILTER (WHERE a.attname IS NOT NULL), '[]'::json),
                  'usesExpressions', bool_or(k.number = 0),
                  'partitions', coalesce((
                    SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
                      'namespace', n.nspname, 'name', p.relname, 'kind', p.relkind,
                      'indexes', coalesce((
                        SELECT pg_catalog.json_agg(\(indexSQL) ORDER BY c.oid)
                        FROM pg_catalog.pg_index i
                        JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
                        JOIN pg_catalog.pg_am m ON m.oid = c.relam
                        WHERE i.indrelid = p.oid AND i.indisvalid AND i.indpred IS NULL
                          AND (NOT c.relispartition OR (
                            SELECT h.indrelid <> r.oid FROM pg_catalog.pg_index h
                            WHERE h.indexrelid = pg_catalog.pg_partition_root(i.indexrelid)))), '[]'::json),
                      'looseIndexes', coalesce((
                        SELECT pg_catalog.json_agg(c.relname ORDER BY c.relname)
                        FROM pg_catalog.pg_index i
                        JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
                        WHERE i.indrelid = p.oid AND i.indisvalid AND NOT c.relispartition), '[]'::json),
                      'invalidIndexes', coalesce((
                        SELECT pg_catalog.json_agg(c.relname ORDER BY c.relname)
                        FROM pg_catalog.pg_index i
                        JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
                        WHERE i.indrelid = p.oid AND NOT i.indisvalid AND \(Migration.builderSQL) IS NULL), '[]'::json)
                    ) ORDER BY b.level, n.nspname, p.relname)
                    FROM pg_catalog.pg_partition_tree(r.oid) b
                    JOIN pg_catalog.pg_class p ON p.oid = b.relid
                    JOIN pg_catalog.pg_namespace n ON n.oid = p.relnamespace
                    WHERE b.relid <> r.oid), '[]'::json))
                FROM pg_catalog.pg_partition_tree(r.oid) b
                JOIN pg_catalog.pg_partitioned_table t ON t.partrelid = b.relid
                CROSS JOIN LATERAL pg_catalog.unnest(t.partattrs::int2[]) AS k(number)
                LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = t.partrelid AND a.attnum = k.number) END
            ) ORDER BY r.relname)
            FROM pg_catalog.pg_class r
            WHERE r.relnamespace = (SELECT oid FROM space) AND r.relkind IN ('r', 'p')), '[]'::json),
          'enums', coalesce((
            SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
              'name', t.typname,
              'values', coalesce((
                SELECT pg_catalog.json_agg(v.enumlabel ORDER BY v.enumsortorder)
                FROM pg_catalog.pg_enum v WHERE v.enumtypid = t.oid), '[]'::json)
            ) ORDER BY t.typname)
            FROM pg_catalog.pg_type t
            WHERE t.typnamespace = (SELECT oid FROM space) AND t.typtype = 'e'), '[]'::json),
          'views', coalesce((
            SELECT pg_catalog.json_agg(r.relname ORDER BY r.relname)
            FROM pg_catalog.pg_class r
            WHERE r.relnamespace = (SELECT oid FROM space) AND r.relkind IN ('v', 'm', 'f')), '[]'::json),
          'relations', coalesce((
            SELECT pg_catalog.json_object_agg(c.relname, coalesce(r.relname, c.relname))
            FROM pg_catalog.pg_class c
            LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid
            LEFT JOIN pg_catalog.pg_class r ON r.oid = i.indrelid
            WHERE c.relnamespace = (SELECT oid FROM space)), '{}'::json),
          'extensions', coalesce((
            SELECT pg_catalog.json_object_agg(
              x.name, CASE WHEN x.installed_version IS NULL THEN 'available' ELSE 'installed' END)
            FROM pg_catalog.pg_available_extensions x
            WHERE x.name IN ('vector', 'citext', 'hstore', 'ltree')), '{}'::json),
          'types', coalesce((
            SELECT pg_catalog.json_agg(n.name ORDER BY n.name)
            FROM pg_catalog.pg_type t
            JOIN pg_catalog.pg_namespace s ON s.oid = t.typnamespace
            CROSS JOIN LATERAL (VALUES
              (pg_catalog.format_type(t.oid, NULL)),
              (pg_catalog.quote_ident(s.nspname) || '.' || pg_catalog.quote_ident(t.typname))) AS n(name)
            WHERE t.typtype <> 'p' AND t.typcategory <> 'A' AND t.typrelid = 0), '[]'::json)
        )::text
        """
    }

    /// Describes the index `i` with its relation `c` and method `m` as a `DatabaseDescription.Index`.
    private static let indexSQL = """
        pg_catalog.json_build_object(
          'name', c.relname,
          'columns', CASE WHEN i.indexprs IS NULL THEN (
            SELECT pg_catalog.json_agg(a.attname ORDER BY k.position)
            FROM pg_catalog.unnest(i.indkey) WITH ORDINALITY AS k(number, position)
            JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
            WHERE k.position <= i.indnkeyatts) ELSE '[]'::json END,
          'descending', (
            SELECT pg_catalog.json_agg(o.option & 1 = 1 ORDER BY o.position)
            FROM pg_catalog.unnest(i.indoption) WITH ORDINALITY AS o(option, position)),
          'operatorClasses', (
            SELECT pg_catalog.json_agg(o.opcname ORDER BY k.position)
            FROM pg_catalog.unnest(i.indclass::oid[]) WITH ORDINALITY AS k(class, position)
            JOIN pg_catalog.pg_opclass o ON o.oid = k.class),
          'method', m.amname,
          'unique', i.indisunique,
          'expression', CASE WHEN i.indexprs IS NOT NULL THEN (
            SELECT pg_catalog.string_agg(pg_catalog.pg_get_indexdef(i.indexrelid, k, false), ', ' ORDER BY k)
            FROM pg_catalog.generate_series(1, i.indnkeyatts::int) k) END,
          'predicate', pg_catalog.pg_get_expr(i.indpred, i.indrelid),
          'uses', coalesce((
            SELECT pg_catalog.json_agg(a.attname ORDER BY a.attnum)
            FROM pg_catalog.pg_attribute a
            WHERE a.attrelid = i.indrelid AND a.attnum > 0 AND (a.attnum = ANY (i.indkey::int2[]) OR EXISTS (
              SELECT FROM pg_catalog.pg_depend d
              WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = i.indexrelid
                AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = i.indrelid
                AND d.refobjsubid = a.attnum))), '[]'::json),
          'replicaIdentity', i.indisreplident OR c.relkind = 'I' AND EXISTS (
            SELECT FROM pg_catalog.pg_partition_tree(c.oid) b
            JOIN pg_catalog.pg_index p ON p.indexrelid = b.relid WHERE p.indisreplident),
          'clustered', i.indisclustered)
        """
}
