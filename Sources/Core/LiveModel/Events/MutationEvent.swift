package import JSON

/// The fact that a mutation committed.
///
/// Delivered at least once to every shard that owns a query which this mutation could refresh. A duplicate is harmless,
/// because a refresh only reads.
package struct MutationEvent: Sendable, Hashable {
    /// Unique per execution; the same in the outbox row and in every stream entry.
    package var id: String
    package var operation: OperationReference
    /// The coerced variables, as conditions read them.
    package var variables: JSONObject
    /// The writer's `auth`, reduced to what conditions on this mutation read; null if signed out.
    package var auth: JSONValue
    /// The parts of the writer's `auth` that `auth` tells. Nil in events of nodes that did not record them: these count
    /// as telling everything.
    package var authParts: AuthReads?
    /// The rows that the mutation wrote by primary key.
    package var keysWritten: [EntityKey]
    /// All changes of rows that the mutation made, for automatic refreshes. Nil if the node that published it did not
    /// record them, or cannot know them: any row of any table may then have changed.
    package var rows: RowChanges?
    /// The trace of the mutation's request, carried to every delivery.
    package var traceID: String
    /// The commit time in milliseconds since 1970, by the API node's clock; used for latency only, never for order.
    package var committedAtMs: Int64
    /// Whether nodes note each step of its way until its deliveries.
    package var isTraced: Bool

    package init(
        id: String, operation: OperationReference, variables: JSONObject, auth: JSONValue,
        authParts: AuthReads? = nil, keysWritten: [EntityKey], rows: RowChanges? = nil, traceID: String,
        committedAtMs: Int64, isTraced: Bool = false
    ) {
        self.id = id
        self.operation = operation
        self.variables = variables
        self.auth = auth
        self.authParts = authParts
        self.keysWritten = keysWritten
        self.rows = rows
        self.traceID = traceID
        self.committedAtMs = committedAtMs
        self.isTraced = isTraced
    }
}

extension MutationEvent {
    /// Stands in place of a mutation for changes that the database's write-ahead log tells. No connector has this name.
    package static let captured = OperationReference(connector: "@database", operation: "changes")

    /// Whether the write-ahead log tells its changes.
    package var isCaptured: Bool { operation == Self.captured }

    /// Whether it only says that the reader of the log may have missed changes of any rows.
    package var isDoubt: Bool { isCaptured && rows == nil }

    /// Makes an event of changes that the write-ahead log tells.
    /// - Parameter rows: nil: any rows may have changed.
    package init(captured rows: RowChanges?, id: String, committedAtMs: Int64) {
        self.init(
            id: id, operation: Self.captured, variables: JSONObject(), auth: .null, authParts: .nothing,
            keysWritten: [], rows: rows, traceID: id, committedAtMs: committedAtMs)
    }

    /// The event as a JSON object; the outbox row and the stream entry hold the same bytes.
    package var encoded: [UInt8] {
        let parts = encodedParts
        return parts.head + parts.tail
    }

    /// The event as a JSON object in two parts: the first ends within the list of `rows`, where further elements can
    /// follow.
    package var encodedParts: (head: [UInt8], tail: [UInt8]) {
        var writer = JSONWriter()
        writer.reserve(256 + id.utf8.count + traceID.utf8.count + 64 * (variables.count + keysWritten.count))
        writer.raw(#"{"id":"#)
        writer.append(string: id)
        writer.raw(#","connector":"#)
        writer.append(string: operation.connector)
        writer.raw(#","operation":"#)
        writer.append(string: operation.operation)
        writer.raw(#","variables":"#)
        writer.append(variables)
        writer.raw(#","auth":"#)
        writer.append(auth)
        if let authParts {
            writer.raw(#","authParts":"#)
            writer.append(authParts.names)
        }
        writer.raw(#","keys":["#)
        for (number, key) in keysWritten.enumerated() {
            writer.raw(number == 0 ? "[" : ",[")
            writer.append(string: key.table)
            writer.raw(",")
            writer.append(string: key.values)
            writer.raw("]")
        }
        writer.raw("]")
        if let rows {
            writer.raw(#","rows":["#)
            for (number, change) in rows.all.enumerated() {
                if number > 0 { writer.raw(",") }
                writer.append(change.encoded)
            }
        }
        var end = JSONWriter()
        end.raw(rows == nil ? #","trace":"# : #"],"trace":"#)
        end.append(string: traceID)
        end.raw(#","at":"#)
        end.append(.int(committedAtMs))
        end.raw(isTraced ? #","traced":true}"# : "}")
        return (writer.bytes, end.bytes)
    }

    /// - Throws: `MessageError` if the bytes are not an event of this format.
    package init(encoded: [UInt8]) throws(MessageError) {
        let object = try MessageError.object(encoded, of: "event")
        let keys = try object.array("keys").map { pair throws(MessageError) in
            guard case .array(let parts) = pair, parts.count == 2, let table = parts[0].stringValue,
                let values = parts[1].stringValue
            else { throw MessageError(field: "keys") }
            return EntityKey(table: table, canonicalValues: values)
        }
        // Changes that cannot be read, of a later version, may be any.
        let rows = object["rows"]?.arrayValue.flatMap { encoded in
            try? RowChanges(encoded.map { change throws(MessageError) in try RowChange(encoded: change) })
        }
        self.init(
            id: try object.string("id"),
            operation: OperationReference(
                connector: try object.string("connector"), operation: try object.string("operation")),
            variables: try object.object("variables"), auth: object["auth"] ?? .null,
            authParts: try object["authParts"].map(AuthReads.init(names:)), keysWritten: keys,
            rows: rows, traceID: try object.string("trace"), committedAtMs: try object.int("at"),
            isTraced: object["traced"] == .bool(true))
    }
}

/// The form in an event: a list of names, `uid`, `token` (all of it), `token.<claim>`, and `auth` if only whether the
/// writer is signed in is read.
extension AuthReads {
    fileprivate static let claimPrefix = "token."

    package var names: JSONValue {
        var names: [JSONValue] = []
        if uid { names.append("uid") }
        if wholeToken { names.append("token") } else { names += claims.map { .string(Self.claimPrefix + $0) } }
        if presence, names.isEmpty { names.append("auth") }
        return .array(names)
    }

    /// A name that is not known counts as `auth`: a later version may have more.
    package init(names: JSONValue) throws(MessageError) {
        guard case .array(let names) = names else { throw MessageError(field: "authParts") }
        self.init()
        for name in names {
            guard let name = name.stringValue else { throw MessageError(field: "authParts") }
            if name.utf8.starts(with: Self.claimPrefix.utf8) {
                add(path: ["token", String(Substring(name.utf8.dropFirst(Self.claimPrefix.utf8.count)))])
            } else {
                add(path: [name])
            }
        }
    }
}
