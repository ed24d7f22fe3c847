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
    /// The rows that the mutation wrote by primary key.
    package var keysWritten: [EntityKey]
    /// The trace of the mutation's request, carried to every delivery.
    package var traceID: String
    /// The commit time in milliseconds since 1970, by the API node's clock; used for latency only, never for order.
    package var committedAtMs: Int64

    package init(
        id: String, operation: OperationReference, variables: JSONObject, auth: JSONValue, keysWritten: [EntityKey],
        traceID: String, committedAtMs: Int64
    ) {
        self.id = id
        self.operation = operation
        self.variables = variables
        self.auth = auth
        self.keysWritten = keysWritten
        self.traceID = traceID
        self.committedAtMs = committedAtMs
    }
}

extension MutationEvent {
    /// The event as a JSON object; the outbox row and the stream entry hold the same bytes.
    package var encoded: [UInt8] {
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
        writer.raw(#","keys":["#)
        for (number, key) in keysWritten.enumerated() {
            writer.raw(number == 0 ? "[" : ",[")
            writer.append(string: key.table)
            writer.raw(",")
            writer.append(string: key.values)
            writer.raw("]")
        }
        writer.raw(#"],"trace":"#)
        writer.append(string: traceID)
        writer.raw(#","at":"#)
        writer.append(.int(committedAtMs))
        writer.raw("}")
        return writer.bytes
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
        self.init(
            id: try object.string("id"),
            operation: OperationReference(
                connector: try object.string("connector"), operation: try object.string("operation")),
            variables: try object.object("variables"), auth: object["auth"] ?? .null, keysWritten: keys,
            traceID: try object.string("trace"), committedAtMs: try object.int("at"))
    }
}
