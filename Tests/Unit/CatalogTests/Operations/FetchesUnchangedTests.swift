import Catalog
import SchemaModel
import Testing

/// Which queries' bodies are fetched even if the database's result is unchanged.
@Suite struct FetchesUnchangedTests {
    private static let operations = """
        query Plain @auth(level: USER) { novels { id } }
        query Checked @auth(level: USER) { novels @check(expr: "size(this) < 9", message: "many") { id } }
        query Timed @auth(level: USER) {
          novels @check(expr: "request.time < timestamp('2030-01-01T00:00:00Z')", message: "over") { id }
        }
        query Remote @auth(level: USER) { clock novels { id } }
        """

    @Test(arguments: [("Plain", false), ("Checked", false), ("Timed", true), ("Remote", true)])
    func queriesWithChecksOfTimeOrRemoteFieldsFetchUnchangedResults(name: String, isFetched: Bool) throws {
        let catalog = try Catalog.compile(
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
        let operation = try #require(catalog.connectors["main"]?.operations[name])
        #expect(operation.fetchesUnchanged == isFetched)
    }
}
