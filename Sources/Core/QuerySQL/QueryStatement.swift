import Operations
package import SchemaModel

/// The SQL of one shape of a query, in the two forms in which it runs.
///
/// Both forms come from one template and differ only in references to parameters: `$1::uuid`, or for many variable sets
/// at once, the column `q.p1` of the row of parameters. Compared by identity: there is one object per shape of an
/// operation.
package final class QueryStatement: Sendable, Hashable {
    /// Returns one row: the body and its digest (64 hexadecimal digits). Parameters are `$1…$n`, all as text.
    package let single: String
    /// Returns rows of ordinal (from 1, bigint), digest and body, in any order; the body is NULL if its digest is the
    /// known one. Parameters `$1…$n` are arrays with one element per variable set: of the parameter's type, or for a
    /// list of text, each an array literal. `$n+1 :: text[]` contains the known digests or NULL.
    package let multiplexed: String
    package let parameterTypes: [SQLType]
    /// The template's operands in the order of the parameters.
    let operands: [Int]

    init(template: Template, shape: ShapeKey) {
        let plain = template.render(shape) { "$\($0 + 1)::\($1.text)" }
        operands = plain.operands
        let types = operands.map { template.operands[$0].sqlType }
        parameterTypes = types
        single =
            "SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM ("
            + Self.once(plain.text) + ") b"
        let lateral = template.render(shape) { $1.isList ? "q.p\($0 + 1)::\($1.text)" : "q.p\($0 + 1)" }
        let arrays = types.map { "\($0.isList ? "text" : $0.name)[]" } + ["text[]"]
        // A parameter inside a SELECT is not a constant to the planner. Otherwise it would replan each short batch,
        // because a plan for the given number of elements seems cheaper than a generic one.
        let sources = arrays.enumerated().map { "(SELECT $\($0.offset + 1)::\($0.element))" }
        let columns = types.indices.map { "p\($0 + 1)" }
        multiplexed =
            "SELECT q.i, d.digest, CASE WHEN d.digest IS DISTINCT FROM q.known THEN d.body END AS body FROM unnest("
            + sources.joined(separator: ", ") + ") WITH ORDINALITY AS q("
            + (columns + ["known", "i"]).joined(separator: ", ")
            + ") CROSS JOIN LATERAL (SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM ("
            + Self.once(lateral.text) + ") b OFFSET 0) d"
    }

    /// `OFFSET 0` prevents Postgres from computing the body a second time for the digest.
    private static func once(_ select: String) -> String { "\(select) OFFSET 0" }

    package static func == (left: QueryStatement, right: QueryStatement) -> Bool { left === right }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

/// A query that is ready to run.
package struct QueryCall: Sendable {
    package let statement: QueryStatement
    /// The parameters in text form, nil for NULL; a list is a Postgres array literal.
    package let parameters: [SQLParameter]
}

/// Variable sets of one shape, as columns of parameters for the multiplexed statement.
package struct QueryBatch: Sendable {
    package let statement: QueryStatement
    /// The indices of the invocations in this batch, ascending.
    package internal(set) var members: [Int] = []
    /// The values of all members for each parameter.
    package internal(set) var columns: [[SQLParameter]]

    init(_ statement: QueryStatement, capacity: Int) {
        self.statement = statement
        var column: [SQLParameter] = []
        column.reserveCapacity(capacity)
        columns = Array(repeating: column, count: statement.parameterTypes.count)
        members.reserveCapacity(capacity)
    }
}

/// The text of a parameter; nil for NULL.
package typealias SQLParameter = String?
