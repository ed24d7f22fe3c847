package import JSON

/// An operation that is stored on the server; generated code has one type for each.
public protocol StoredOperation: Sendable {
    associatedtype Variables: OperationVariables
    associatedtype Data: OperationData
    /// The name in the connector.
    static var name: String { get }
    /// Identifies the shape of `Data`. Cached results of another revision are not read.
    static var revision: String { get }
}

extension StoredOperation {
    public static var revision: String { "" }
}

public protocol QueryOperation: StoredOperation {
    /// The rows in a result, for the normalised cache.
    static var entities: EntityShape { get }
}

extension QueryOperation {
    public static var entities: EntityShape { .none }
}

public protocol MutationOperation: StoredOperation {}

/// The variables of an operation.
public protocol OperationVariables: Sendable, Hashable {
    func encode(to variables: inout VariableWriter)
}

/// The variables of an operation that has none.
public struct NoVariables: OperationVariables {
    public init() {}
    public func encode(to variables: inout VariableWriter) {}
}

extension OperationVariables {
    package var object: JSONObject {
        var writer = VariableWriter()
        encode(to: &writer)
        return writer.object
    }

    /// The canonical text of an object of variables: equal variables have equal texts, in this app and on the server.
    package static func canonicalText(_ object: JSONObject) -> String {
        String(decoding: JSONWriter.canonical(.object(object)), as: UTF8.self)
    }
}

/// Collects the variables of a request.
public struct VariableWriter: Sendable {
    package private(set) var object = JSONObject()

    package init() {}

    public mutating func set(_ name: String, _ value: some VariableValue) { object[name] = value.variableValue.json }

    /// An absent variable is not sent.
    public mutating func set<Value>(_ name: String, _ value: Sent<Value>) {
        switch value {
        case .absent: break
        case .null: object[name] = JSONValue.null
        case .value(let value): object[name] = value.variableValue.json
        }
    }
}

/// The data of a result, or an object in it. Equality compares all fields.
public protocol OperationData: ResultValue {
    init(from object: ObjectReader) throws(ResultError)
}

extension OperationData {
    public init(result value: AnyValue) throws(ResultError) { try self.init(from: ObjectReader(value)) }
}

/// A row of a table whose whole primary key is selected.
public protocol EntityData: OperationData {
    associatedtype Key: EntityKey
    var key: Key { get }
}

/// The primary key of a table's row, in results and as a variable.
public protocol EntityKey: ResultValue, VariableValue {
    /// The name of the table's type in the schema.
    static var entityType: String { get }
    /// The names of the key's fields, in the order of the table's key.
    static var keyFields: [String] { get }
    init(from object: ObjectReader) throws(ResultError)
    /// The values of `keyFields`.
    var keyValues: [AnyValue] { get }
}

extension EntityKey {
    public init(result value: AnyValue) throws(ResultError) { try self.init(from: ObjectReader(value)) }

    public var variableValue: AnyValue {
        AnyValue(json: .object(JSONObject(zip(Self.keyFields, keyValues.map(\.json)))))
    }
}
