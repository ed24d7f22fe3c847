/// A function that a query uses, as `pg_proc` describes it, and what Freshet relies on.
package struct DatabaseFunction: Sendable {
    /// The name and the types of the arguments as `regprocedure` prints them: `now()`, `count("any")`.
    package let signature: String
    package let name: String
    /// Whether it is in the schema `pg_catalog`.
    package let isSystem: Bool
    /// Whether it is an aggregate; its functions for states and results are among the others.
    package let isAggregate: Bool
    /// `internal`, `c`, `sql`, `plpgsql`, …
    package let language: String
    /// `i`, `s` or `v`
    package let volatility: String
    /// The extension that it belongs to.
    package let extensionName: String?
    /// The key and the digest of its definition; nil for functions of Postgres itself.
    package let definition: (key: String, digest: String)?

    package init(
        signature: String, name: String, isSystem: Bool, isAggregate: Bool, language: String, volatility: String,
        extensionName: String?, definition: (key: String, digest: String)?
    ) {
        self.signature = signature
        self.name = name
        self.isSystem = isSystem
        self.isAggregate = isAggregate
        self.language = language
        self.volatility = volatility
        self.extensionName = extensionName
        self.definition = definition
    }

    /// Extensions whose stable functions read settings and dictionaries only. Others may run SQL, as `crosstab` does.
    private static let harmlessExtensions: Set<String> = [
        "btree_gin", "btree_gist", "citext", "cube", "earthdistance", "fuzzystrmatch", "hstore", "intarray", "isn",
        "ltree", "pg_trgm", "seg", "unaccent", "vector",
    ]

    /// Stable functions of Postgres named `pg_…` that do not read the server's state.
    private static let harmlessOfServer: Set<String> = ["pg_typeof", "pg_client_encoding", "pg_input_is_valid"]

    /// Functions whose result changes with the time, those named `…_in` for the input `now`.
    private static let clocks: Set<String> = [
        "age", "date_in", "now", "statement_timestamp", "time_in", "timestamp_in", "timestamptz_in", "timetz",
        "timetz_in", "transaction_timestamp",
    ]

    /// Why a query that uses it may read more than its tables; nil if it cannot.
    var refusal: String? {
        // Its functions are judged, which this one does not tell.
        if isAggregate { return nil }
        switch volatility {
        case "i": return nil
        case "s": break
        default: return "the function \(signature) is volatile"
        }
        guard ["internal", "c"].contains(language) else {
            if isSystem, name == "age" { return nil }
            return "the function \(signature), written in \(language), is not immutable"
        }
        guard isSystem else {
            if let extensionName, Self.harmlessExtensions.contains(extensionName) { return nil }
            return "the function \(signature) is not immutable"
        }
        let readsTables = name.contains("_to_xml")
        let readsState =
            name.hasPrefix("pg_") && !Self.harmlessOfServer.contains(name) || name.hasPrefix("to_reg")
            || name.hasPrefix("txid_") || name.hasPrefix("has_") || name == "row_security_active"
        if readsTables { return "the function \(signature) reads tables by their names" }
        return readsState ? "the function \(signature) reads the state of the server" : nil
    }

    /// Extensions whose volatile functions make values only.
    private static let harmlessVolatileExtensions: Set<String> = ["pgcrypto", "uuid-ossp"]

    /// Volatile functions of Postgres that neither write tables nor run SQL.
    private static let harmlessVolatile: Set<String> = [
        "clock_timestamp", "currval", "gen_random_uuid", "lastval", "nextval", "pg_advisory_xact_lock",
        "pg_current_xact_id", "pg_notify", "random", "random_normal", "set_config", "setval", "timeofday",
        "txid_current", "uuidv4", "uuidv7",
    ]

    /// Why a statement that uses it may write more than it says; nil if it cannot. Postgres lets a stable function call
    /// a volatile one, which may write.
    var writeRefusal: String? {
        if isAggregate { return nil }
        if isSystem {
            if name.contains("_to_xml") { return "the function \(signature) reads tables by their names" }
            if volatility != "v" || Self.harmlessVolatile.contains(name) { return nil }
        } else {
            if volatility == "i" { return nil }
            let harmless = Self.harmlessExtensions.union(Self.harmlessVolatileExtensions)
            if language == "c", let extensionName, harmless.contains(extensionName) { return nil }
        }
        return volatility == "v"
            ? "the function \(signature) is volatile, so it may write"
            : "the function \(signature) is not immutable, so it may call one that writes"
    }

    var readsTime: Bool { isSystem && volatility == "s" && Self.clocks.contains(name) }

    /// Aggregates whose result is the same in whatever order the rows come.
    private static let unordered: Set<String> = {
        var signatures: Set<String> = ["count()", "count(\"any\")", "bool_and(boolean)", "bool_or(boolean)"]
        signatures.insert("every(boolean)")
        for type in ["smallint", "integer", "bigint"] {
            for name in ["sum", "avg", "min", "max", "bit_and", "bit_or"] { signatures.insert("\(name)(\(type))") }
        }
        for name in ["sum", "avg"] { signatures.insert("\(name)(numeric)") }
        for type in ["date", "timestamp with time zone", "timestamp without time zone", "text", "anyenum"] {
            for name in ["min", "max"] { signatures.insert("\(name)(\(type))") }
        }
        return signatures
    }()

    var isUnordered: Bool { isSystem && Self.unordered.contains(signature) }
}
