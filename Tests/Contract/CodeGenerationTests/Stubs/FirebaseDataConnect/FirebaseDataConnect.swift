// The part of the module's public surface that apps and generated code use, as of its release 11.12: names, labels,
// types and constraints. It runs operations by the REST protocol of docs/reference/sql-connect.md and follows queries
// by long-polls, so that generated code is tested against a server. It has no cache.

import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

public struct ConnectorConfig: Hashable, Sendable {
    public let serviceId: String
    public let location: String
    public let connector: String

    public init(serviceId: String, location: String, connector: String) {
        (self.serviceId, self.location, self.connector) = (serviceId, location, connector)
    }
}

public struct CacheSettings: Sendable {
    public enum Storage: Sendable {
        case persistent, memory
    }

    public init(storage: Storage = .persistent, maxAge: TimeInterval = 0) {}
}

public struct DataConnectSettings: Sendable {
    public let host: String
    public let port: Int
    public let sslEnabled: Bool

    public init() { self.init(host: DataConnect.EmulatorDefaults.host, port: 443, sslEnabled: true) }

    public init(host: String, port: Int, sslEnabled: Bool, cacheSettings: CacheSettings? = nil) {
        (self.host, self.port, self.sslEnabled) = (host, port, sslEnabled)
    }
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

public struct AnyDataConnectError: Error {
    public let message: String
}

// MARK: Refs

public protocol OperationRef {
    associatedtype ResultData: Decodable & Sendable
    func execute() async throws -> OperationResult<ResultData>
}

public protocol QueryRef: OperationRef {
    func subscribe() async throws -> AnyPublisher<Result<OperationResult<ResultData>, AnyDataConnectError>, Never>
    func execute(fetchPolicy: QueryFetchPolicy) async throws -> OperationResult<ResultData>
}

public protocol ObservableQueryRef: QueryRef {
    var data: ResultData? { get }
}

public final class QueryRefObservation<
    ResultData: Decodable & Sendable, Variable: OperationVariable
>: ObservableQueryRef {
    private let operation: Operation<ResultData, Variable>
    public private(set) var data: ResultData?

    init(_ operation: Operation<ResultData, Variable>) { self.operation = operation }

    public func execute() async throws -> OperationResult<ResultData> { try await execute(fetchPolicy: .preferCache) }

    public func execute(fetchPolicy: QueryFetchPolicy) async throws -> OperationResult<ResultData> {
        let result = try await operation.run("executeQuery")
        data = result.data
        return result
    }

    public func subscribe() async throws -> AnyPublisher<
        Result<OperationResult<ResultData>, AnyDataConnectError>, Never
    > { operation.publisher }
}

public final class QueryRefObservableObject<
    ResultData: Decodable & Sendable, Variable: OperationVariable
>: ObservableQueryRef {
    private let operation: Operation<ResultData, Variable>
    public private(set) var data: ResultData?

    init(_ operation: Operation<ResultData, Variable>) { self.operation = operation }

    public func execute() async throws -> OperationResult<ResultData> { try await execute(fetchPolicy: .preferCache) }

    public func execute(fetchPolicy: QueryFetchPolicy) async throws -> OperationResult<ResultData> {
        let result = try await operation.run("executeQuery")
        data = result.data
        return result
    }

    public func subscribe() async throws -> AnyPublisher<
        Result<OperationResult<ResultData>, AnyDataConnectError>, Never
    > { operation.publisher }
}

public final class MutationRef<ResultData: Decodable & Sendable, Variable: OperationVariable>: OperationRef {
    private let operation: Operation<ResultData, Variable>

    init(_ operation: Operation<ResultData, Variable>) { self.operation = operation }

    public func execute() async throws -> OperationResult<ResultData> {
        try await operation.run("executeMutation")
    }
}

// MARK: DataConnect

public class DataConnect {
    public enum EmulatorDefaults {
        public static let host = "127.0.0.1"
        public static let port = 9399
    }

    let config: ConnectorConfig
    var address: String

    init(_ config: ConnectorConfig, _ settings: DataConnectSettings) {
        self.config = config
        address = "\(settings.sslEnabled ? "https" : "http")://\(settings.host):\(settings.port)"
    }

    public class func dataConnect(
        connectorConfig: ConnectorConfig, settings: DataConnectSettings = DataConnectSettings(),
        callerSDKType: CallerSDKType = .base
    ) -> DataConnect { DataConnect(connectorConfig, settings) }

    public func useEmulator(host: String = EmulatorDefaults.host, port: Int = EmulatorDefaults.port) {
        address = "http://\(host):\(port)"
    }

    public func query<ResultData: Decodable & Sendable, Variable: OperationVariable>(
        name: String, variables: Variable, resultsDataType: ResultData.Type,
        publisher: ResultsPublisherType = .observableObject
    ) -> any ObservableQueryRef {
        let operation = Operation<ResultData, Variable>(dataConnect: self, name: name, variables: variables)
        switch publisher {
        case .observableMacro: return QueryRefObservation(operation)
        case .auto, .observableObject: return QueryRefObservableObject(operation)
        }
    }

    public func mutation<ResultData: Decodable & Sendable, Variable: OperationVariable>(
        name: String, variables: Variable, resultsDataType: ResultData.Type
    ) -> MutationRef<ResultData, Variable> {
        MutationRef(Operation(dataConnect: self, name: name, variables: variables))
    }
}

/// An operation of a connector with its variables.
struct Operation<ResultData: Decodable & Sendable, Variable: OperationVariable> {
    private struct Body: Encodable {
        let operationName: String
        let variables: Variable
    }

    private struct Failure: Decodable { let message: String }

    private struct Answer: Decodable {
        let data: ResultData?
        let errors: [Failure]?

        func get() throws -> OperationResult<ResultData> {
            if let message = errors?.first?.message { throw AnyDataConnectError(message: message) }
            return OperationResult(data: data)
        }
    }

    let dataConnect: DataConnect
    let name: String
    let variables: Variable

    func run(_ method: String) async throws -> OperationResult<ResultData> {
        let config = dataConnect.config
        let path =
            "/v1/projects/p/locations/\(config.location)/services/\(config.serviceId)"
            + "/connectors/\(config.connector):\(method)"
        var request = URLRequest(url: URL(string: dataConnect.address + path)!)
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "content-type")
        request.httpBody = try JSONEncoder().encode(Body(operationName: name, variables: variables))
        let (body, response) = try await URLSession.shared.data(for: request)
        guard (response as? HTTPURLResponse)?.statusCode == 200 else {
            throw AnyDataConnectError(message: try JSONDecoder().decode(Failure.self, from: body).message)
        }
        return try JSONDecoder().decode(Answer.self, from: body).get()
    }

    var publisher: AnyPublisher<Result<OperationResult<ResultData>, AnyDataConnectError>, Never> {
        AnyPublisher { receive in
            let task = Task {
                do {
                    try await follow { data in
                        receive(
                            Result { try JSONDecoder().decode(Answer.self, from: data).get() }.mapError(Self.error))
                    }
                } catch {
                    if !Task.isCancelled { receive(.failure(Self.error(error))) }
                }
            }
            return AnyCancellable { task.cancel() }
        }
    }

    private static func error(_ error: any Error) -> AnyDataConnectError {
        error as? AnyDataConnectError ?? AnyDataConnectError(message: "\(error)")
    }

    /// Polls for results: the first at once, later ones when they are others than the last.
    private func follow(_ receive: (Data) -> Void) async throws {
        var address = URLComponents(string: dataConnect.address)!
        address.path = "/v1/connectors/\(dataConnect.config.connector)/queries/\(name)"
        let variables = String(decoding: try JSONEncoder().encode(variables), as: UTF8.self)
        address.queryItems = [URLQueryItem(name: "variables", value: variables)]
        var request = URLRequest(url: address.url!, cachePolicy: .reloadIgnoringLocalCacheData)
        while !Task.isCancelled {
            let (body, response) = try await URLSession.shared.data(for: request)
            guard let response = response as? HTTPURLResponse else { return }
            if response.statusCode == 200 { receive(body) }
            request.setValue(response.value(forHTTPHeaderField: "etag"), forHTTPHeaderField: "if-none-match")
            request.setValue("wait=20", forHTTPHeaderField: "prefer")
        }
    }
}

// MARK: Combine, as far as apps see it

public struct AnyPublisher<Output, Failure: Error> {
    let start: (@escaping (Output) -> Void) -> AnyCancellable

    public func sink(receiveValue: @escaping (Output) -> Void) -> AnyCancellable { start(receiveValue) }
}

public final class AnyCancellable: @unchecked Sendable {
    private let end: () -> Void

    init(_ end: @escaping () -> Void) { self.end = end }
    deinit { end() }

    public func cancel() { end() }
}

// MARK: Values

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

/// Codes the scalars whose form in JSON is a text.
public class CodecHelper<K: CodingKey> {
    public init() {}

    public func encode(_ value: any Encodable, forKey key: K, container: inout KeyedEncodingContainer<K>) throws {
        switch value {
        case let number as Int64: try container.encode(String(number), forKey: key)
        case let id as UUID:
            try container.encode(id.uuidString.lowercased().filter { $0 != "-" }, forKey: key)
        default: try container.encode(value, forKey: key)
        }
    }

    public func decode<T: Decodable>(
        _ type: T.Type, forKey key: K, container: inout KeyedDecodingContainer<K>
    ) throws -> T {
        let value: Any?
        switch type {
        case is Int64.Type, is Int64?.Type: value = try text(key, container).flatMap { Int64($0) }
        case is UUID.Type, is UUID?.Type: value = try text(key, container).flatMap(Self.uuid)
        default: return try container.decode(type, forKey: key)
        }
        guard let result = value as? T else {
            throw DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: "no \(type)")
        }
        return result
    }

    private func text(_ key: K, _ container: KeyedDecodingContainer<K>) throws -> String? {
        try container.decode(String?.self, forKey: key)
    }

    private static func uuid(_ text: String) -> UUID? {
        var text = text
        if text.count == 32 {
            for offset in [20, 16, 12, 8] { text.insert("-", at: text.index(text.startIndex, offsetBy: offset)) }
        }
        return UUID(uuidString: text)
    }
}

public struct LocalDate: Codable, Hashable, Sendable {
    private let text: String

    public init(year: Int, month: Int, day: Int) {
        func digits(_ number: Int, _ count: Int) -> String {
            String(repeating: "0", count: count - String(number).count) + String(number)
        }
        text = "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))"
    }

    public init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

public struct AnyValue: Codable, Hashable, Sendable {
    private enum Value: Hashable, Sendable {
        case null
        case bool(Bool)
        case number(Double)
        case text(String)
        case list([AnyValue])
        case object([String: AnyValue])
    }

    private let value: Value

    public init(codableValue: some Codable) throws {
        self = try JSONDecoder().decode(AnyValue.self, from: JSONEncoder().encode(codableValue))
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            value = .null
        } else if let flag = try? container.decode(Bool.self) {
            value = .bool(flag)
        } else if let number = try? container.decode(Double.self) {
            value = .number(number)
        } else if let text = try? container.decode(String.self) {
            value = .text(text)
        } else if let list = try? container.decode([AnyValue].self) {
            value = .list(list)
        } else {
            value = .object(try container.decode([String: AnyValue].self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch value {
        case .null: try container.encodeNil()
        case .bool(let flag): try container.encode(flag)
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .list(let list): try container.encode(list)
        case .object(let object): try container.encode(object)
        }
    }
}
