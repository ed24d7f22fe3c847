package import JSON

/// The error for a message from another node that is not in the expected format. The entry is skipped and counted; the
/// error is never fatal.
package struct MessageError: Error, Hashable, Sendable, CustomStringConvertible {
    package let field: String

    package init(field: String) {
        self.field = field
    }

    package var description: String { "malformed message: \(field)" }

    static func object(_ bytes: [UInt8], of kind: String) throws(MessageError) -> JSONObject {
        guard let value = try? JSONValue(parsing: bytes), case .object(let object) = value else {
            throw MessageError(field: kind)
        }
        return object
    }
}

/// Typed access to message fields.
extension JSONObject {
    func string(_ field: String) throws(MessageError) -> String {
        guard let value = self[field]?.stringValue else { throw MessageError(field: field) }
        return value
    }

    func int(_ field: String) throws(MessageError) -> Int64 {
        guard case .int(let value)? = self[field] else { throw MessageError(field: field) }
        return value
    }

    func object(_ field: String) throws(MessageError) -> JSONObject {
        guard case .object(let value)? = self[field] else { throw MessageError(field: field) }
        return value
    }

    func array(_ field: String) throws(MessageError) -> [JSONValue] {
        guard case .array(let value)? = self[field] else { throw MessageError(field: field) }
        return value
    }
}
