// The part of the module's public surface that generated code uses, as of its release 11.12: names, labels, types and
// constraints. Nothing runs.

import Foundation

public struct ConnectorConfig: Hashable, Sendable {
    public init(serviceId: String, location: String, connector: String) {}
}

public struct CacheSettings: Sendable {
    public enum Storage: Sendable {
        case persistent, memory
    }

    public init(storage: Storage = .persistent, maxAge: TimeInterval = 0) {}
}

public struct DataConnectSettings: Sendable {
    public let host = ""
    public let port = 0
    public let sslEnabled = true

    public init() {}
    public init(host: String, port: Int, sslEnabled: Bool, cacheSettings: CacheSettings? = nil) {}
}

public enum CallerSDKType: Sendable {
    case base, generated
}

public enum ResultsPublisherType {
    case auto, observableObject, observableMacro
}

public enum QueryFetchPolicy: Sendable {
    case preferCache, cacheOnly, serverOnly
}

public protocol OperationVariable: Encodable, Hashable, Sendable {}

public struct OperationResult<ResultData: Decodable & Sendable>: Sendable {
    public let data: ResultData?
}

public protocol OperationRef {
    associatedtype ResultData: Decodable & Sendable
    func execute() async throws -> OperationResult<ResultData>
}

public protocol QueryRef: OperationRef {
    func execute(fetchPolicy: QueryFetchPolicy) async throws -> OperationResult<ResultData>
}

public protocol ObservableQueryRef: QueryRef {
    var data: ResultData? { get }
}

public final class QueryRefObservation<
    ResultData: Decodable & Sendable, Variable: OperationVariable
>: ObservableQueryRef {
    public var data: ResultData? { nil }
    public func execute() async throws -> OperationResult<ResultData> { fatalError() }
    public func execute(fetchPolicy: QueryFetchPolicy) async throws -> OperationResult<ResultData> { fatalError() }
}

public final class QueryRefObservableObject<
    ResultData: Decodable & Sendable, Variable: OperationVariable
>: ObservableQueryRef {
    public var data: ResultData? { nil }
    public func execute() async throws -> OperationResult<ResultData> { fatalError() }
    public func execute(fetchPolicy: QueryFetchPolicy) async throws -> OperationResult<ResultData> { fatalError() }
}

public final class MutationRef<ResultData: Decodable & Sendable, Variable: OperationVariable>: OperationRef {
    public func execute() async throws -> OperationResult<ResultData> { fatalError() }
}

public class DataConnect {
    public enum EmulatorDefaults {
        public static let host = "127.0.0.1"
        public static let port = 9399
    }

    public class func dataConnect(
        connectorConfig: ConnectorConfig, settings: DataConnectSettings = DataConnectSettings(),
        callerSDKType: CallerSDKType = .base
    ) -> DataConnect { fatalError() }

    public func useEmulator(host: String = EmulatorDefaults.host, port: Int = EmulatorDefaults.port) {}

    public func query<ResultData: Decodable & Sendable, Variable: OperationVariable>(
        name: String, variables: Variable, resultsDataType: ResultData.Type,
        publisher: ResultsPublisherType = .observableObject
    ) -> any ObservableQueryRef { fatalError() }

    public func mutation<ResultData: Decodable & Sendable, Variable: OperationVariable>(
        name: String, variables: Variable, resultsDataType: ResultData.Type
    ) -> MutationRef<ResultData, Variable> { fatalError() }
}

@propertyWrapper
public struct OptionalVariable<Value: Encodable & Sendable>: Sendable {
    public private(set) var isSet = false
    public var wrappedValue: Value? { didSet { isSet = true } }

    public init() {}

    public init(wrappedValue: Value?) {
        self.wrappedValue = wrappedValue
        isSet = true
    }

    public var projectedValue: Self { self }
}

public class CodecHelper<K: CodingKey> {
    public init() {}

    public func encode(_ value: any Encodable, forKey: K, container: inout KeyedEncodingContainer<K>) throws {}

    public func decode<T: Decodable>(
        _ type: T.Type, forKey: K, container: inout KeyedDecodingContainer<K>
    ) throws -> T { fatalError() }
}

public struct LocalDate: Codable, Hashable, Sendable {
    public init(year: Int, month: Int, day: Int) {}
}

public struct AnyValue: Codable, Hashable, Sendable {
    public init(codableValue: some Codable) throws {}
}
