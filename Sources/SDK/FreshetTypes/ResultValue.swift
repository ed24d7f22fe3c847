package import JSON

/// A value that is read from a result.
public protocol ResultValue: Sendable, Hashable {
    /// - Throws: `ResultError` if the value has another type.
    init(result value: AnyValue) throws(ResultError)
}

/// A value that can be a variable of an operation.
public protocol VariableValue: Sendable, Hashable {
    var variableValue: AnyValue { get }
}

/// A result that does not fit its type: the app was generated for another version of the connector.
public struct ResultError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Members and indices from the root of the result.
    public internal(set) var path: [String]
    public let expected: String
    public let found: String

    public init(path: [String] = [], expected: String, found: String) {
        self.path = path
        self.expected = expected
        self.found = found
    }

    package init(expected: String, _ value: AnyValue) {
        let found =
            switch value.json {
            case .null: "null"
            case .bool: "a Boolean"
            case .int, .double: "a number"
            case .string: "a text"
            case .array: "a list"
            case .object: "an object"
            }
        self.init(expected: expected, found: found)
    }

    package func below(_ member: String) -> ResultError {
        var copy = self
        copy.path.insert(member, at: 0)
        return copy
    }

    public var description: String {
        let place = path.isEmpty ? "the result" : path.joined(separator: ".")
        return "\(place): expected \(expected), found \(found)"
    }
}

/// Reads the members of one object of a result.
public struct ObjectReader: Sendable {
    private let object: JSONObject

    package init(_ object: JSONObject) { self.object = object }

    /// - Throws: `ResultError` if the value is no object.
    public init(_ value: AnyValue) throws(ResultError) {
        guard case .object(let object) = value.json else { throw ResultError(expected: "an object", value) }
        self.object = object
    }

    /// The member, an absent one as null.
    /// - Throws: `ResultError` if it has another type.
    public func value<Value: ResultValue>(_ key: String, as type: Value.Type = Value.self) throws(ResultError) -> Value
    {
        do {
            return try Value(result: AnyValue(json: object[key] ?? .null))
        } catch {
            throw error.below(key)
        }
    }
}

// MARK: Scalars

extension String: ResultValue, VariableValue {
    public init(result value: AnyValue) throws(ResultError) {
        guard case .string(let text) = value.json else { throw ResultError(expected: "a text", value) }
        self = text
    }

    public var variableValue: AnyValue { AnyValue(json: .string(self)) }
}

extension Bool: ResultValue, VariableValue {
    public init(result value: AnyValue) throws(ResultError) {
        guard case .bool(let flag) = value.json else { throw ResultError(expected: "a Boolean", value) }
        self = flag
    }

    public var variableValue: AnyValue { AnyValue(json: .bool(self)) }
}

extension Int: ResultValue, VariableValue {
    public init(result value: AnyValue) throws(ResultError) {
        guard let number = value.json.intValue, let fitting = Int(exactly: number) else {
            throw ResultError(expected: "an integer", value)
        }
        self = fitting
    }

    public var variableValue: AnyValue { AnyValue(json: .int(Int64(self))) }
}

/// Travels as a text, because many JSON parsers round integers beyond 2^53; a number is read as well.
extension Int64: ResultValue, VariableValue {
    public init(result value: AnyValue) throws(ResultError) {
        if case .string(let text) = value.json, let number = Int64(text) {
            self = number
        } else if let number = value.json.intValue {
            self = number
        } else {
            throw ResultError(expected: "a 64-bit integer", value)
        }
    }

    public var variableValue: AnyValue { AnyValue(json: .string(String(self))) }
}

extension Double: ResultValue, VariableValue {
    public init(result value: AnyValue) throws(ResultError) {
        guard let number = value.json.doubleValue else { throw ResultError(expected: "a number", value) }
        self = number
    }

    public var variableValue: AnyValue { AnyValue(json: .double(self)) }
}

// MARK: Wrappers

extension Optional: ResultValue where Wrapped: ResultValue {
    public init(result value: AnyValue) throws(ResultError) {
        self = value.isNull ? .none : .some(try Wrapped(result: value))
    }
}

extension Optional: VariableValue where Wrapped: VariableValue {
    public var variableValue: AnyValue { self?.variableValue ?? .null }
}

extension Array: ResultValue where Element: ResultValue {
    public init(result value: AnyValue) throws(ResultError) {
        guard case .array(let elements) = value.json else { throw ResultError(expected: "a list", value) }
        self.init()
        reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            do {
                append(try Element(result: AnyValue(json: element)))
            } catch {
                throw error.below(String(index))
            }
        }
    }
}

extension Array: VariableValue where Element: VariableValue {
    public var variableValue: AnyValue { AnyValue(json: .array(map(\.variableValue.json))) }
}
