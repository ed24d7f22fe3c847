package import JSON

/// Any JSON value: a field of type `Any`, a member of a result, the value of a variable.
///
/// Equality is exact: texts compare by their bytes, objects regardless of order, and the integer 1 differs from 1.0.
/// Source: SDK specification §1, row 16.
public struct AnyValue: Sendable, Hashable {
    package var json: JSONValue

    package init(json: JSONValue) { self.json = json }

    public static let null = AnyValue(json: .null)

    public init(_ value: some VariableValue) { self = value.variableValue }

    /// Parses a JSON text.
    /// - Throws: `ResultError` with the position of the first fault.
    public init(jsonText: String) throws(ResultError) {
        do {
            json = try JSONParser.parse(jsonText)
        } catch {
            throw ResultError(path: [], expected: "JSON", found: "\(error)")
        }
    }

    /// The compact JSON text, members in their order.
    public var jsonText: String { json.description }

    public var isNull: Bool { json.isNull }
    public var boolValue: Bool? { json.boolValue }
    /// The integer; also of a double without fraction below 2^53 in magnitude.
    public var intValue: Int64? { json.intValue }
    public var doubleValue: Double? { json.doubleValue }
    public var stringValue: String? { json.stringValue }
    public var arrayValue: [AnyValue]? { json.arrayValue.map { $0.map(AnyValue.init(json:)) } }

    public var objectValue: [String: AnyValue]? {
        json.objectValue.map { object in
            Dictionary(object.entries.map { ($0.key, AnyValue(json: $0.value)) }, uniquingKeysWith: { $1 })
        }
    }

    /// The member of an object; nil if this is no object or has no such member.
    public subscript(key: String) -> AnyValue? { json[key].map(AnyValue.init(json:)) }

    /// The element of an array; nil if this is no array or is shorter.
    public subscript(index: Int) -> AnyValue? { json[index].map(AnyValue.init(json:)) }
}

extension AnyValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) { json = .null }
    public init(booleanLiteral value: Bool) { json = .bool(value) }
    public init(integerLiteral value: Int64) { json = .int(value) }
    public init(floatLiteral value: Double) { json = .double(value) }
    public init(stringLiteral value: String) { json = .string(value) }
    public init(arrayLiteral elements: AnyValue...) { json = .array(elements.map(\.json)) }
    public init(dictionaryLiteral elements: (String, AnyValue)...) {
        json = .object(JSONObject(elements.map { ($0, $1.json) }))
    }
}

extension AnyValue: CustomStringConvertible {
    public var description: String { jsonText }
}

extension AnyValue: ResultValue, VariableValue {
    public init(result value: AnyValue) { self = value }
    public var variableValue: AnyValue { self }
}
