package import Catalog
package import JSON
package import LiveModel
import Operations
import SchemaModel

/// A part of clients' caches that an operator has them drop. Pure.
package enum InvalidationTarget: Hashable, Sendable, CustomStringConvertible {
    /// - Parameter key: the values of the primary key, in its order.
    case entity(type: String, key: [JSONValue])
    case operation(OperationReference)
    case connector(String)

    package var description: String {
        switch self {
        case .entity(let type, let key): "the row \(type) \(JSONValue.array(key))"
        case .operation(let operation): "the results of \(operation)"
        case .connector(let connector): "everything of the connector \(connector)"
        }
    }

    /// - Parameter text: the key: a JSON array, or the only value itself.
    package static func entity(type: String, text: String) -> InvalidationTarget {
        if text.hasPrefix("["), case .array(let values)? = try? JSONValue(parsing: Array(text.utf8)) {
            return .entity(type: type, key: values)
        }
        return .entity(type: type, key: [.string(text)])
    }

    /// Returns the subject by the name that clients know.
    /// - Throws: `.notFound` for what the project does not have, `.badRequest` for a key of another form.
    package func subject(in catalog: Catalog) throws(RequestError) -> InvalidationSubject {
        switch self {
        case .connector(let connector):
            guard catalog.connectorIDs.contains(connector) else {
                throw RequestError(.notFound, "there is no connector \"\(connector)\"")
            }
            return .connector(connector)
        case .operation(let operation):
            guard catalog.operation(operation)?.kind == .query else {
                throw RequestError(.notFound, "no stored query \"\(operation)\"")
            }
            return .operation(operation)
        case .entity(let type, let key):
            guard let table = catalog.schema.table(ofType: type) else {
                throw RequestError(.notFound, "the schema has no table \"\(type)\"")
            }
            let columns = table.keyColumns
            guard !columns.isEmpty, columns.count == key.count else {
                let names = columns.map(\.field).joined(separator: ", ")
                throw RequestError(.badRequest, "the key of \(type) has \(columns.count) values: \(names)")
            }
            var values: [JSONValue] = []
            for (column, value) in zip(columns, key) { values.append(try Self.value(value, of: column)) }
            return .entity(id: Self.id(type, values))
        }
    }

    /// Returns a value as results show it.
    private static func value(_ value: JSONValue, of column: Column) throws(RequestError) -> JSONValue {
        var value = value
        // Numbers on a command line are text.
        if case .string(let text) = value, let number = Int64(text), column.type == ColumnType(.int) {
            value = .int(number)
        }
        do throws(ScalarCoercion.Mismatch) {
            let coerced = try ScalarCoercion(enums: [:]).coerce(value, to: column.type)
            // Results have it as text.
            if column.type == ColumnType(.int64), let number = coerced.intValue { return .string(String(number)) }
            return coerced
        } catch {
            throw RequestError(.badRequest, "\(column.field) is no value of its type, \(column.type.scalar)")
        }
    }

    /// The id of a row, as it is in results. Source: docs/reference/sql-connect.md §4.
    static func id(_ type: String, _ key: [JSONValue]) -> String {
        var text = Array("\(type)[".utf8)
        for (index, value) in key.enumerated() {
            if index > 0 { text += ", ".utf8 }
            text += value.compactBytes
        }
        text.append(UInt8(ascii: "]"))
        return String(Digest(of: text).hex.prefix(32))
    }
}
