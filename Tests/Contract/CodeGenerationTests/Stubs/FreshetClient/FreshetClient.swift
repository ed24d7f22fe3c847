// The part of the SDK's public surface that generated code uses: names, labels, types and constraints. Nothing runs.

import Foundation

public struct ResultError: Error {}

public struct ObjectReader: Sendable {
    public func value<Value: ResultValue>(
        _ key: String, as type: Value.Type = Value.self
    ) throws(ResultError) -> Value { throw ResultError() }
}

public struct VariableWriter: Sendable {
    public mutating func set(_ name: String, _ value: some VariableValue) {}
    public mutating func set<Value>(_ name: String, _ value: Sent<Value>) {}
}

public protocol ResultValue: Sendable, Hashable {
    init(result value: AnyValue) throws(ResultError)
}

public protocol VariableValue: Sendable, Hashable {
    var variableValue: AnyValue { get }
}

public struct AnyValue: ResultValue, VariableValue {
    public init(_ value: some VariableValue) {}
    public init(result value: AnyValue) throws(ResultError) {}
    public var variableValue: AnyValue { self }
}

public struct LocalDate: ResultValue, VariableValue {
    public init(result value: AnyValue) throws(ResultError) {}
    public var variableValue: AnyValue { AnyValue(self) }
}

public struct Timestamp: ResultValue, VariableValue {
    public init(result value: AnyValue) throws(ResultError) {}
    public var variableValue: AnyValue { AnyValue(self) }
}

public enum Sent<Value: VariableValue>: Sendable, Hashable {
    case absent, null
    case value(Value)
}

extension String: ResultValue, VariableValue {
    public init(result value: AnyValue) throws(ResultError) { throw ResultError() }
    public var variableValue: AnyValue { AnyValue(self) }
}

extension Bool: ResultValue, VariableValue {
    public init(result value: AnyValue) throws(ResultError) { throw ResultError() }
    public var variableValue: AnyValue { AnyValue(self) }
}

extension Int: ResultValue, VariableValue {
    public init(result value: AnyValue) throws(ResultError) { throw ResultError() }
    public var variableValue: AnyValue { AnyValue(self) }
}

extension Int64: ResultValue, VariableValue {
    public init(result value: AnyValue) throws(ResultError) { throw ResultError() }
    public var variableValue: AnyValue { AnyValue(self) }
}

extension Double: ResultValue, VariableValue {
    public init(result value: AnyValue) throws(ResultError) { throw ResultError() }
    public var variableValue: AnyValue { AnyValue(self) }
}

extension UUID: ResultValue, VariableValue {
    public init(result value: AnyValue) throws(ResultError) { throw ResultError() }
    public var variableValue: AnyValue { AnyValue(self) }
}

extension Optional: ResultValue where Wrapped: ResultValue {
    public init(result value: AnyValue) throws(ResultError) { throw ResultError() }
}

extension Optional: VariableValue where Wrapped: VariableValue {
    public var variableValue: AnyValue { AnyValue(self) }
}

extension Array: ResultValue where Element: ResultValue {
    public init(result value: AnyValue) throws(ResultError) { throw ResultError() }
}

extension Array: VariableValue where Element: VariableValue {
    public var variableValue: AnyValue { AnyValue(self) }
}

public protocol OpenEnum: ResultValue, VariableValue {
    init(name: String)
    var name: String { get }
    static var knownCases: [Self] { get }
}

extension OpenEnum {
    public init(result value: AnyValue) throws(ResultError) { throw ResultError() }
    public var variableValue: AnyValue { AnyValue(name) }
}

public protocol OperationData: ResultValue {
    init(from object: ObjectReader) throws(ResultError)
}

extension OperationData {
    public init(result value: AnyValue) throws(ResultError) { throw ResultError() }
}

public protocol EntityData: OperationData {
    associatedtype Key: EntityKey
    var key: Key { get }
}

public protocol EntityKey: ResultValue, VariableValue {
    static var entityType: String { get }
    static var keyFields: [String] { get }
    init(from object: ObjectReader) throws(ResultError)
    var keyValues: [AnyValue] { get }
}

extension EntityKey {
    public init(result value: AnyValue) throws(ResultError) { throw ResultError() }
    public var variableValue: AnyValue { AnyValue("") }
}

public protocol OperationVariables: Sendable, Hashable {
    func encode(to variables: inout VariableWriter)
}

public struct NoVariables: OperationVariables {
    public init() {}
    public func encode(to variables: inout VariableWriter) {}
}

public protocol StoredOperation: Sendable {
    associatedtype Variables: OperationVariables
    associatedtype Data: OperationData
    static var name: String { get }
    static var revision: String { get }
}

public protocol QueryOperation: StoredOperation {
    static var entities: EntityShape { get }
}

public protocol MutationOperation: StoredOperation {}

public struct EntityShape: Sendable, Hashable {
    public static let none = EntityShape()
    public static func object(_ members: [String: EntityShape]) -> EntityShape { .none }
    public static func entity(
        _ type: String, key: [String], _ members: [String: EntityShape] = [:]
    ) -> EntityShape { .none }
}

public struct ConnectorIdentity: Sendable, Hashable {
    public init(service: String, location: String, connector: String, revision: String = "") {}
}

public enum CacheSettings: Sendable {
    case off
    public static func persistent(maxAge: Duration = .zero, maxBytes: Int = 0) -> CacheSettings { .off }
    public static func memory(maxAge: Duration = .zero, maxBytes: Int = 0) -> CacheSettings { .off }
}

public struct AuthSource: Sendable {
    public static let none = AuthSource()
}

public struct ConnectorOptions: Sendable {
    public init() {}
}

public final class ConnectorLink: Sendable {
    public init(
        _ identity: ConnectorIdentity, at address: String, cache: CacheSettings = .off, auth: AuthSource = .none,
        options: ConnectorOptions = ConnectorOptions()
    ) {}
}

public protocol FreshetConnector: Sendable {
    static var identity: ConnectorIdentity { get }
    var link: ConnectorLink { get }
    init(link: ConnectorLink)
}

public struct Query<Operation: QueryOperation>: Sendable {
    public init(_ link: ConnectorLink, _ variables: Operation.Variables) {}
}

public struct Mutation<Operation: MutationOperation>: Sendable {
    public init(_ link: ConnectorLink, _ variables: Operation.Variables) {}
}
