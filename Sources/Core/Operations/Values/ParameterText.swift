import JSON
import SchemaModel

/// Formats canonical values as Postgres input text.
enum ParameterText {
    /// Returns nil for NULL.
    static func text(of value: JSONValue, type: ColumnType) -> String? {
        guard type.isList else { return text(of: value, scalar: type.scalar) }
        guard case .array(let elements) = value else { return nil }
        return SQLText.literal(of: elements.lazy.map { text(of: $0, scalar: type.scalar) })
    }

    private static func text(of value: JSONValue, scalar: ScalarType) -> String? {
        if case .null = value { return nil }
        if case .any = scalar { return value.description }
        // An embedding is already text.
        if case .vector = scalar { return value.stringValue ?? value.description }
        switch value {
        case .string(let text): return text
        case .int(let number): return String(number)
        case .double(let number): return number.description
        case .bool(let flag): return flag ? "true" : "false"
        case .null: return nil
        case .array, .object: return value.description
        }
    }
}
