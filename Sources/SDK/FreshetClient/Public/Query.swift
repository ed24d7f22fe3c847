import FreshetStore
public import FreshetTypes
import JSON

/// A stored query with its variables. A value: it costs nothing until it is followed or read.
public struct Query<Operation: QueryOperation>: Sendable, Hashable {
    public let link: ConnectorLink
    public let variables: Operation.Variables

    public init(_ link: ConnectorLink, _ variables: Operation.Variables) {
        self.link = link
        self.variables = variables
    }

    package var stored: StoredQuery { StoredQuery(Operation.self, variables) }

    /// Follows the query: the cached result at once, then the server's, then every change, until the loop or its task
    /// ends. Queries with the same variables share one subscription.
    ///
    /// While the server cannot be reached, the last result is repeated with `isConfirmed == false` and the reason. The
    /// sequence ends with an error when the server refuses the operation, or the user changes.
    public func live() -> LiveResults<Operation> { LiveResults(self) }

    /// Reads the result once.
    /// - Throws: `.notCached` under `.cacheOnly`; otherwise what the link or the server says.
    public func get(_ policy: FetchPolicy = .preferCache) async throws(FreshetError) -> QueryResult<Operation.Data> {
        let engine = try link.engine()
        let query = stored
        let snapshot = try await engine.get(query, policy)
        do {
            return QueryResult(
                data: try Operation.Data(result: AnyValue(json: snapshot.document ?? .null)), source: snapshot.source)
        } catch {
            guard snapshot.source == .cache else {
                throw FreshetError(.unreadable, "\(Operation.name): \(error)")
            }
            // Written by another version of the app.
            await engine.unreadable(query.key)
            if policy == .cacheOnly {
                throw FreshetError(.notCached, "\(Operation.name) is cached in another form")
            }
            return try await get(.serverOnly)
        }
    }

    public static func == (left: Query, right: Query) -> Bool {
        left.link === right.link && left.variables == right.variables
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(link))
        hasher.combine(variables)
    }
}

/// The result of a single read.
public struct QueryResult<Data: OperationData>: Sendable, Hashable {
    public let data: Data
    public let source: ResultSource

    public init(data: Data, source: ResultSource) {
        self.data = data
        self.source = source
    }
}
