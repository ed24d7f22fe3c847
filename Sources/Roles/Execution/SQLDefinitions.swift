package import Postgres

/// The definitions in a database on which it depends what an SQL text reads: tables, views and functions.
///
/// A key has the object's number, which names cannot follow: `r:16400:public.lot`, `f:16410:public.score(integer)`. The
/// digest covers the name and all that `SQLDependencies` relies on.
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

    private static func digest(_ parts: String) -> String {
        "left(encode(sha256(convert_to(concat_ws('|', \(parts)), 'UTF8')), 'hex'), 32)"
    }

    private static let read = Statement(
        """
        SELECT key, CASE left(key, 2)
            WHEN 'r:' THEN (
                SELECT \(relationDigest) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
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

    /// The part of a key that is for people.
    package static func name(of key: String) -> String {
        String(key.split(separator: ":", maxSplits: 2).last ?? "")
    }
}

extension QueryExecutor {
    /// Returns the definitions that are no longer those known (see `SQLDefinitions.changed`).
    package func changedDefinitions(since known: [String: String]) async throws(PostgresError) -> [String] {
        try await SQLDefinitions.changed(since: known, pool)
    }
}
