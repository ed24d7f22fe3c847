public import FreshetClient
import FreshetTransport

/// The names of Firebase's SDK for SQL Connect over Freshet's, so that an app's code stays as it is. Generated code
/// adds its connectors: `DataConnect.moviesConnector`. Source: SDK specification §1, rows 4 to 21.
public enum DataConnect {
    private struct Configuration: Sendable {
        var address = "http://127.0.0.1:9399"
        var auth = AuthSource.none
        var options = ConnectorOptions()
    }

    private static let configuration = Locked(Configuration())

    /// Says where the server is and who the user is. Call it before the first connector is used.
    public static func configure(
        at address: String, auth: AuthSource = .none, options: ConnectorOptions = ConnectorOptions()
    ) {
        configuration.withLock { $0 = Configuration(address: address, auth: auth, options: options) }
    }

    /// Makes the link of a connector; generated code calls it.
    public static func link(_ identity: ConnectorIdentity, cache: CacheSettings = .off) -> ConnectorLink {
        let configuration = configuration.withLock { $0 }
        return ConnectorLink(
            identity, at: configuration.address, cache: cache, auth: configuration.auth, options: configuration.options)
    }
}

/// A connector as `DataConnect` names it; generated code has one class for each.
public protocol DataConnectConnector: Sendable {
    var link: ConnectorLink { get }
}

/// The address of `freshet dev`, which is that of Firebase's emulator.
public enum EmulatorDefaults {
    public static let host = "127.0.0.1"
    public static let port = 9_399
}

extension DataConnectConnector {
    /// Uses a server on this machine. It must be called before the first operation, as in Firebase's SDK.
    public func useEmulator(host: String = EmulatorDefaults.host, port: Int = EmulatorDefaults.port) {
        let isEarly = link.use(address: "http://\(host.contains(":") ? "[\(host)]" : host):\(port)")
        precondition(isEarly, "useEmulator must be called before the connector is used")
    }
}

/// Which connector of which service.
public struct ConnectorConfig: Sendable, Hashable {
    public let serviceId: String
    public let location: String
    public let connector: String

    public init(serviceId: String, location: String, connector: String) {
        self.serviceId = serviceId
        self.location = location
        self.connector = connector
    }
}

extension FreshetConnector {
    public static var connectorConfig: ConnectorConfig {
        ConnectorConfig(
            serviceId: identity.service, location: identity.location, connector: identity.connector)
    }
}

public typealias DataConnectError = FreshetError
public typealias AnyDataConnectError = FreshetError
public typealias DataConnectOperationError = FreshetError
public typealias QueryFetchPolicy = FetchPolicy

/// The result of a query.
public struct OperationResult<Data: OperationData>: Sendable, Hashable {
    /// Nil only while a live query has no result.
    public let data: Data?
    public let source: ResultSource
}

/// The result of a mutation.
public struct MutationOperationResult<Data: OperationData>: Sendable, Hashable {
    public let data: Data
}

/// A mutation with its variables.
public struct MutationRef<Operation: MutationOperation>: Sendable {
    private let mutation: Mutation<Operation>

    public init(_ mutation: Mutation<Operation>) { self.mutation = mutation }

    /// - Throws: `FreshetError`. Errors of single fields beside committed ones are thrown, too; the rest is in
    ///   `partialData`.
    public func execute() async throws -> MutationOperationResult<Operation.Data> {
        let key = IdempotencyKey()
        let answer = try await mutation.answer(key: key)
        guard answer.errors.isEmpty else {
            throw FreshetError(failedFields: answer.errors, committed: answer.data).with(key)
        }
        return MutationOperationResult(data: try MutationResult(answer, of: Operation.name).data)
    }
}
