import Catalog
import JSON
import LiveModel
import Refresh
import SchemaModel
import Testing

/// The rules of a live query, which a worker makes from the catalogs that its node serves.
@Suite struct QueryRulesTests {
    private static let operations = """
        query ByKey($id: UUID!) @auth(level: PUBLIC, insecureReason: "test") @refresh(every: {seconds: 30})
          @refresh(onMutationExecuted: {
            operation: "Rename", condition: "request.variables.id == mutation.variables.id"
          })
          @refresh(onMutationExecuted: {operation: "Rename"}) { novel(id: $id) { id title } }
        query Clock @auth(level: PUBLIC, insecureReason: "test") @refresh(every: {seconds: 30}) { clock }
        mutation Rename($id: UUID!, $title: String!) @auth(level: USER) { novel_update(id: $id, data: {title: $title}) }
        """
    private static let id = "00000000000040008000000000000001"

    private func catalog() throws -> Catalog {
        try Catalog.compile(
            Project(
                serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: CatalogHarness.schema)],
                resolvers: [
                    ResolverSource(
                        endpoint: ResolverEndpoint(id: "time", uri: "http://localhost:1/g", timeoutMs: 500),
                        files: [SourceFile(path: "time.gql", text: "type Query { clock: Timestamp }")])
                ],
                connectors: [
                    ConnectorSource(id: "main", files: [SourceFile(path: "main.gql", text: Self.operations)])
                ]))
    }

    private func set(_ catalog: Catalog) -> CatalogSet {
        CatalogSet(current: .init(version: Digest(of: "v".utf8), catalog: catalog))
    }

    private func query(_ name: String, in catalog: Catalog, _ variables: String = "{}") throws -> LiveQuery {
        let operation = try #require(
            catalog.operation(OperationReference(connector: "main", operation: name)), "\(name)")
        return LiveQuery(
            operation: operation.reference, version: operation.version,
            variables: try operation.coerce(try CatalogHarness.object(variables)), auth: nil)
    }

    @Test func rulesAreThoseOfTheOperationWithTheQuerysVariables() throws {
        let catalog = try catalog()
        let query = try query("ByKey", in: catalog, #"{"id": "\#(Self.id)"}"#)
        let rules = try set(catalog).queryRules(of: query)
        #expect(rules.triggers.map(\.id.number) == [0, 1])
        #expect(rules.triggers.allSatisfy { $0.id.operation == query.operation && $0.id.version == query.version })
        #expect(rules.triggers.map(\.mutation.operation) == ["Rename", "Rename"])
        #expect(rules.triggers.map { $0.condition != nil } == [true, false])
        #expect(rules.lookupKeys.map(\.values) == [#"["\#(Self.id)"]"#])
        #expect(rules.everyMs == 30_000 && rules.otherServers == [])
    }

    @Test func rulesNameTheServersThatARunWaitsFor() throws {
        let catalog = try catalog()
        let rules = try set(catalog).queryRules(of: try query("Clock", in: catalog))
        #expect(rules.otherServers == ["http://localhost:1/g"])
        let embedding = try CatalogHarness.operation(
            """
            query Q($q: String!) { docs_v_similarity(compare_embed: {model: "m", text: $q}) { id } }
            """, schema: "type Doc @table { v: Vector @col(size: 2) }")
        let live = LiveQuery(
            operation: embedding.reference, version: embedding.version,
            variables: try embedding.coerce(try CatalogHarness.object(#"{"q": "sea"}"#)), auth: nil)
        #expect(try embedding.queryRules(of: live).otherServers == ["embeddings"])
    }

    @Test func rulesOfAVersionThatIsNotServedAreUnavailable() throws {
        let catalog = try catalog()
        let query = try query("Clock", in: catalog)
        let other = LiveQuery(
            operation: query.operation, version: Digest(of: "other".utf8), variables: query.variables, auth: nil)
        #expect(throws: RequestError.versionNotServed) { try set(catalog).queryRules(of: other) }
        #expect(RequestError.versionNotServed.code == .unavailable)
    }

    @Test func mutationHasNoRules() throws {
        let catalog = try catalog()
        let mutation = try query("Rename", in: catalog, #"{"id": "\#(Self.id)", "title": "t"}"#)
        let error = #expect(throws: RequestError.self) { try set(catalog).queryRules(of: mutation) }
        #expect(error?.code == .badRequest)
    }
}
