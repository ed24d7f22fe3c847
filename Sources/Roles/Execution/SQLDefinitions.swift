package import Postgres

/// The definitions in a database on which it depends what an SQL text reads or writes: tables, views and functions, and
/// what writing a table entails, such as its defaults and the foreign keys that refer to it. Expressions count where
/// they call functions that are not part of Postgres, foreign keys where they change rows.
///
/// A key has the object's number, which names cannot follow: `r:16400:public.lot`, `f:16410:public.score(integer)`,
/// `w:16400:public.lot`. The digest covers the name and all that `SQLDependencies` relies on.
package enum SQLDefinitions {
    /// The key of row `c` of `pg_class` in the schema `n`.
    package static let relationKey = "'r:' || c.oid || ':' || format('%I.%I', n.nspname, c.relname)"
    /// The key of row `p` of `pg_proc` in the schema `n`.
    package static let functionKey =
        "'f:' || p.oid || ':' || format('%I.%I(%s)', n.nspname, p.proname, oidvectortypes(p.proargtypes))"

    /// The digest of row `c` of `pg_class` in the schema `n`.
    package static let relationDigest = digest(
        """
        n.nspname, c.relname, c.relkind, c.relpersistence, c.relrowsecurity, c.relispartition,
        c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits WHERE inhparent = c.oid),
        (SELECT ev_action::text FROM pg_rewrite WHERE ev_class = c.oid AND ev_type = '1')
        """)
    /// The digest of row `p` of `pg_proc` in the schema `n`.
    package static let functionDigest = digest(
        """
        n.nspname, p.proname, p.prolang, p.provolatile, p.prosrc, p.probin, p.proconfig, p.prosqlbody::text,
        (SELECT a::text FROM pg_aggregate a WHERE aggfnoid = p.oid)
        """)

    /// The key of what writing rows of row `c` of `pg_class` in the schema `n` entails.
    package static let writingKey = "'w:' || c.oid || ':' || format('%I.%I', n.nspname, c.relname)"
    /// The stored trees of the defaults, generated columns, checks and indices of row `c` of `pg_class`, as rows.
    package static let expressions = """
        SELECT adbin::text AS tree FROM pg_attrdef WHERE adrelid = c.oid
        UNION ALL SELECT conbin::text FROM pg_constraint WHERE conrelid = c.oid AND conbin IS NOT NULL
        UNION ALL SELECT indexprs::text FROM pg_index WHERE indrelid = c.oid AND indexprs IS NOT NULL
        UNION ALL SELECT indpred::text FROM pg_index WHERE indrelid = c.oid AND indpred IS NOT NULL
        """
    /// The key of what the database may call for any text that writes.
    package static let commonKey = "c:0:domains and casts"
    /// The stored trees of the checks of domains, as rows.
    package static let domainChecks =
        "SELECT conbin::text AS tree FROM pg_constraint WHERE contypid <> 0 AND conbin IS NOT NULL"
    /// The numbers of the functions of casts that are not part of Postgres, as rows.
    package static let castFunctions =
        "SELECT castfunc::text AS number FROM pg_cast WHERE oid >= 16384 AND castfunc <> 0"
    /// The digest of the former two.
    package static let commonDigest = digest(
        "ARRAY(\(domainChecks) ORDER BY 1)::text, ARRAY(\(castFunctions) ORDER BY 1)::text")
    /// The digest of what writing rows of row `c` of `pg_class` in the schema `n` entails.
    package static let writingDigest = digest(
        """
        n.nspname, c.relname, c.relkind, c.relpersistence, c.relrowsecurity, c.relispartition, c.relhasrules,
        EXISTS (SELECT FROM pg_inherits WHERE inhparent = c.oid),
        EXISTS (SELECT FROM pg_inherits WHERE inhrelid = c.oid),
        ARRAY(SELECT tree FROM (\(expressions)) e WHERE tree ~ ':(funcid|opfuncid|aggfnoid) [0-9]{5}' ORDER BY 1)::text,
        ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = c.oid AND attgenerated <> '' ORDER BY 1)::text,
        ARRAY(SELECT concat_ws(' ', conrelid, confdeltype, confupdtype,
                (SELECT string_agg(quote_ident(attname), ',' ORDER BY attname) FROM pg_attribute
                    WHERE attrelid = conrelid AND attnum = ANY(conkey)),
                (SELECT string_agg(quote_ident(attname), ',' ORDER BY attname) FROM pg_attribute
                    WHERE attrelid = confrelid AND attnum = ANY(confkey)))
            FROM pg_constraint
            WHERE confrelid = c.oid AND contype = 'f'
                AND (confdeltype IN ('c', 'n', 'd') OR confupdtype IN ('c', 'n', 'd'))
            ORDER BY 1)::text
        """)

    private static func digest(_ parts: String) -> String {
        "left(encode(sha256(convert_to(concat_ws('|', \(parts)), 'UTF8')), 'hex'), 32)"
    }

    private static let read = Statement(
        """
        SELECT key, CASE left(key, 2)
            WHEN 'c:' THEN \(commonDigest)
            WHEN 'r:' THEN (
                SELECT \(relationDigest) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE c.oid = split_part(key, ':', 2)::oid)
            WHEN 'w:' THEN (
                SELECT \(writingDigest) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE c.oid = split_part(key, ':', 2)::oid)
            ELSE (
                SELECT \(functionDigest) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
                WHERE p.oid = split_part(key, ':', 2)::oid)
            END
        FROM unnest($1::text[]) AS key
        """)

    /// Returns the keys whose definition is another one now, or gone, sorted.
    /// - Parameter known: the digests by key.
    package static func changed(
        since known: [String: String], _ pool: PostgresPool
    ) async throws(PostgresError) -> [String] {
        if known.isEmpty { return [] }
        let rows = try await pool.query(read, [.text(PostgresArray.literal(known.keys.sorted()))]).rows
        return rows.compactMap { row in
            guard let key = row.string(0), row.string(1) != known[key] else { return nil }
            return key
        }.sorted()
    }

    /// The parts of keys that are for people, sorted; one where several keys concern the same object.
    package static func names(of keys: some Sequence<String>) -> [String] {
        Set(keys.map { String($0.split(separator: ":", maxSplits: 2).last ?? "") }).sorted()
    }
}

extension QueryExecutor {
    /// Returns the definitions that are no longer those known (see `SQLDefinitions.changed`).
    package func changedDefinitions(since known: [String: String]) async throws(PostgresError) -> [String] {
        try await SQLDefinitions.changed(since: known, pool)
    }
}
