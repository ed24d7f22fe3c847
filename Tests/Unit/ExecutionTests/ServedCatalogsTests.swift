import Catalog
import Execution
import LiveModel
import SchemaModel
import Testing

/// Which version of the project serves requests, and from when on all mutations are published by it.
@Suite struct ServedCatalogsTests {
    private func member(_ name: String) throws -> CatalogSet.Member {
        CatalogSet.Member(
            version: Digest(of: name.utf8),
            catalog: try Catalog.compile(
                Project(
                    serviceID: "test",
                    schemaFiles: [SourceFile(path: "schema.gql", text: "type Note @table { text: String! }")],
                    connectors: [
                        ConnectorSource(
                            id: "main",
                            files: [
                                SourceFile(path: "q.gql", text: "query \(name) @auth(level: PUBLIC) { notes { id } }")
                            ])
                    ])))
    }

    @Test("A deployment is reached only after the last mutation that began by an earlier one")
    func deployments() throws {
        let catalogs = ServedCatalogs(CatalogSet(current: try member("A")), loadedDeployment: 1)
        let first = catalogs.begin()
        let second = catalogs.begin()
        catalogs.replace(CatalogSet(current: try member("B")), loadedDeployment: 2)
        let third = catalogs.begin()
        #expect(first.loadedDeployment == 1 && third.loadedDeployment == 2)
        #expect(catalogs.deploymentReached == 1)
        catalogs.ended(first)
        catalogs.ended(third)
        #expect(catalogs.deploymentReached == 1)
        catalogs.ended(second)
        #expect(catalogs.deploymentReached == 2)
    }

    @Test("A snapshot keeps the version that it was taken with")
    func snapshots() throws {
        let (a, b) = (try member("A"), try member("B"))
        let catalogs = ServedCatalogs(CatalogSet(current: a), loadedDeployment: 1)
        let former = catalogs.snapshot
        catalogs.replace(CatalogSet(current: b), loadedDeployment: 2)
        #expect(former.lookup.version == a.version)
        #expect(catalogs.snapshot.lookup.version == b.version)
        #expect(catalogs.set.current.version == b.version)
    }
}
