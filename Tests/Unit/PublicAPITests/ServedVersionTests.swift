import Catalog
import Execution
import LiveModel
import SchemaModel
import Synchronization
import Testing

@testable import PublicAPI

@Suite struct ServedVersionTests {
    private func member(_ name: String) throws -> CatalogSet.Member {
        CatalogSet.Member(
            version: Digest(of: name.utf8),
            catalog: try Catalog.compile(
                Project(
                    serviceID: "test",
                    schemaFiles: [SourceFile(path: "s.gql", text: "type Person @table { name: String! }")],
                    connectors: [
                        ConnectorSource(
                            id: "c",
                            files: [SourceFile(path: "c.gql", text: "query Q @auth(level: PUBLIC) { people { id } }")])
                    ])))
    }

    @Test func requestsFollowDeploymentsAndSessionsDoNot() throws {
        let (old, new) = (try member("old"), try member("new"))
        let catalogs = ServedCatalogs(CatalogSet(current: old))
        let pinned = ServedVersion.pinned(ServedVersion.current.lookup(catalogs), onFormer: nil)
        #expect(ServedVersion.current.lookup(catalogs).version == old.version)
        catalogs.replace(CatalogSet(current: new), loadedDeployment: 1)
        #expect(ServedVersion.current.lookup(catalogs).version == new.version)
        #expect(pinned.lookup(catalogs).version == old.version)
    }

    /// A session that began while no previous version was served need not reconnect when one ends.
    @Test func formerVersionsAreReportedBySessionsThatMayUseThem() throws {
        let member = try member("current")
        let lookup = ServedVersion.current.lookup(ServedCatalogs(CatalogSet(current: member)))
        let used = Mutex<[Digest]>([])
        let session = ServedVersion.pinned(lookup) { version in used.withLock { $0.append(version) } }
        #expect(session.allowsFormers && ServedVersion.current.allowsFormers)
        #expect(!ServedVersion.pinned(lookup, onFormer: nil).allowsFormers)
        session.usedFormer(Digest(of: "former".utf8))
        ServedVersion.current.usedFormer(Digest(of: "other".utf8))
        #expect(used.withLock { $0 } == [Digest(of: "former".utf8)])
    }
}
