import Operations
package import SchemaModel

/// The SQL of one shape of a query, in the two forms in which it runs.
///
/// Both forms come from one template; only the reference to a parameter differs: `$1::uuid` or, for many variable sets
/// at once, the column `q.p1` of the row of parameters. Identity is the object: one per shape of an operation.
package final class QueryStatement: Sendable, Hashable {
    /// One row: body text, digest of the body (64 hexadecimal digits). Parameters `$1…$n`, all as text.
    package let single: String
    /// Rows (ordinal from 1 :: bigint, digest, body; the body is NULL when its digest is the known one). Parameters
    /// `$1…$n` are arrays with one element for each set of variables: of the parameter's type, or for a list of text,
    /// each an array literal; `$n+1 :: text[]` holds the known digests or NULL. No order is promised.
    package let multiplexed: String
    package let parameterTypes: [SQLType]
    /// Operands of the template in the order of the parameters.
    let operands: [Int]

    init(template: Template, shape: ShapeKey) {
        let plain = template.render(shape) { "$\($0 + 1)::\($1.text)" }
        operands = plain.operands
        let types = operands.map { template.operands[$0].sqlType }
        parameterTypes = types
        single =
            "SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM ("
            + Self.body(plain.text) + ") b"
        let lateral = template.render(shape) { $1.isList ? "q.p\($0 + 1)::\($1.text)" : "q.p\($0 + 1)" }
        let arrays = types.map { "\($0.isList ? "text" : $0.name)[]" } + ["text[]"]
        // A parameter behind a SELECT is no constant to the planner. Else it would plan each short batch anew, because a
        // plan for the one element that it sees seems better than one for any number.
        let sources = arrays.enumerated().map { "(SELECT $\($0.offset + 1)::\($0.element))" }
        let columns = types.indices.map { "p\($0 + 1)" }
        multiplexed =
            "SELECT q.i, d.digest, CASE WHEN d.digest IS DISTINCT FROM q.known THEN d.body END AS body FROM unnest("
            + sources.joined(separator: ", ") + ") WITH ORDINALITY AS q("
            + (columns + ["known", "i"]).joined(separator: ", ")
            + ") CROSS JOIN LATERAL (SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM ("
            + Self.body(lateral.text) + ") b OFFSET 0) d"
    }

    /// `OFFSET 0` keeps Postgres from computing the body a second time for the digest.
    private static func body(_ select: String) -> String {
        "SELECT row_to_json(r.*)::text AS body FROM (\(select)) r OFFSET 0"
    }

    package static func == (left: QueryStatement, right: QueryStatement) -> Bool { left === right }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

/// A query ready to run.
package struct QueryCall: Sendable {
    package let statement: QueryStatement
    /// In text form, nil for NULL; a list is the text of a Postgres array.
    package let parameters: [SQLParameter]
}

/// Variable sets of one shape, as the multiplexed statement takes them.
package struct QueryBatch: Sendable {
    package let statement: QueryStatement
    /// Which of the items these are, rising.
    package internal(set) var members: [Int] = []
    /// For each parameter the values of all members, in their order.
    package internal(set) var columns: [[SQLParameter]]

    init(_ statement: QueryStatement, capacity: Int) {
        self.statement = statement
        var column: [SQLParameter] = []
        column.reserveCapacity(capacity)
        columns = Array(repeating: column, count: statement.parameterTypes.count)
        members.reserveCapacity(capacity)
    }
}

/// The text of one parameter, nil for NULL.
package typealias SQLParameter = String?
