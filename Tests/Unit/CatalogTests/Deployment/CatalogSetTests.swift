import Catalog
import DeploymentPlan
import LiveModel
import SchemaModel
import Testing

/// Several versions in service at one time.
struct CatalogSetTests {
    private static let old = """
        query ByKey($id: UUID!) @auth(level: PUBLIC, insecureReason: "test") { novel(id: $id) { id title } }
        query Told @auth(level: PUBLIC, insecureReason: "test")
          @refresh(onMutationExecuted: {operation: "Rename", condition: "mutation.auth.uid == 'x'"}) { novels { id } }
        mutation Rename($id: UUID!, $title: String!) @auth(level: USER) {
          novel_updateMany(where: {id: {eq: $id}}, data: {title: $title})
        }
        """
    private static let new = """
        query ByKey($id: UUID!) @auth(level: PUBLIC, insecureReason: "test") { novel(id: $id) { id title rating } }
        query Fresh @auth(level: PUBLIC, insecureReason: "test")
          @refresh(onMutationExecuted: {operation: "Rename"}) { novels { id } }
        mutation Rename($id: UUID!, $title: String!) @auth(level: USER) {
          novel_updateMany(where: {id: {eq: $id}}, data: {title: $title})
        }
        mutation Rate($id: UUID!, $rating: Float!) @auth(level: USER) { novel_update(id: $id, data: {rating: $rating}) }
        """

    private func reference(_ name: String) -> OperationReference {
        OperationReference(connector: "main", operation: name)
    }

    private func makeSet() throws -> (set: CatalogSet, old: Catalog, new: Catalog) {
        let old = try CatalogHarness.compile(Self.old)
        let new = try CatalogHarness.compile(Self.new)
        let set = CatalogSet(
            current: .init(version: Digest(of: "new".utf8), catalog: new),
            others: [.init(version: Digest(of: "old".utf8), catalog: old)])
        return (set, old, new)
    }

    @Test func eventsReachQueriesOfEveryVersion() throws {
        let (set, old, new) = try makeSet()
        #expect(set.queriesRefreshed(by: reference("Rename")) == [reference("Fresh"), reference("Told")])
        #expect(new.queriesRefreshed(by: reference("Rename")) == [reference("Fresh")])
        // A mutation that only the new version has writes a row that a query of the old one looks up.
        #expect(old.queriesRefreshed(by: reference("Rate")) == [])
        #expect(set.queriesRefreshed(by: reference("Rate")) == [reference("ByKey")])
        // And what conditions of the old version read goes along.
        #expect(new.authReadsOfConditions(on: reference("Rename")) == .nothing)
        #expect(
            set.authReadsOfConditions(on: reference("Rename")) == old.authReadsOfConditions(on: reference("Rename")))
        #expect(set.authReadsOfConditions(on: reference("Rename")) != .nothing)
    }

    @Test func operationsAreFoundByVersion() throws {
        let (set, old, new) = try makeSet()
        let oldVersion = try #require(old.operation(reference("ByKey"))?.version)
        let newVersion = try #require(new.operation(reference("ByKey"))?.version)
        #expect(oldVersion != newVersion)
        #expect(set.operation(reference("ByKey"), version: oldVersion) === old.operation(reference("ByKey")))
        #expect(set.operation(reference("ByKey"), version: newVersion) === new.operation(reference("ByKey")))
        #expect(set.operation(reference("ByKey"), version: Digest(of: "none".utf8)) == nil)
        #expect(set.operation(reference("ByKey")) === new.operation(reference("ByKey")))
        #expect(set.operation(reference("Told")) === old.operation(reference("Told")))
    }
}

struct ProjectArchiveTests {
    private func project(in folder: String, title: String = "title") -> Project {
        Project(
            serviceID: "s", schemaFiles: [SourceFile(path: folder + "schema/s.gql", text: "type \"é\" \(title)\n")],
            connectors: [
                ConnectorSource(id: "c", files: [SourceFile(path: folder + "connector/q.gql", text: "query Q { q }")])
            ], seedSQL: "SELECT 1")
    }

    @Test func theFoldersPathDoesNotChangeTheVersion() throws {
        let archive = ProjectArchive(project(in: "config/auctions/"))
        #expect(archive.version == ProjectArchive(project(in: "")).version)
        #expect(archive.version == ProjectArchive(project(in: "/somewhere/else/")).version)
        #expect(archive.version != ProjectArchive(project(in: "", title: "titles")).version)
        #expect(archive.project.schemaFiles.map(\.path) == ["schema/s.gql"])
    }

    @Test func automaticRefreshesAreKept() throws {
        var automatic = project(in: "x/")
        automatic.automaticRefresh = AutomaticRefresh(
            mode: .lists, overrides: [.init(pattern: "main/*", mode: .off), .init(pattern: "main/Top", mode: .all)])
        let archive = ProjectArchive(automatic)
        #expect(archive.version != ProjectArchive(project(in: "x/")).version)
        let stored = try ProjectArchive(parsing: archive.text)
        #expect(stored.project.automaticRefresh == automatic.automaticRefresh && stored.version == archive.version)
        #expect(!ProjectArchive(project(in: "x/")).text.contains("automaticRefresh"))
        #expect(throws: ProjectArchive.Failure.self) {
            try ProjectArchive(parsing: archive.text.replacing("\"lists\"", with: "\"some\""))
        }
    }

    @Test func findingsAboutSQLAreKept() throws {
        var inspected = project(in: "x/")
        inspected.sqlReads = SQLReads([
            "SELECT 1": .init(tables: [], storedOrder: .none, readsTime: true),
            "SELECT * FROM s": .init(
                tables: [.init(name: "s", columns: ["a", "b"]), .init(name: "t", columns: nil)], storedOrder: .rows,
                readsTime: false, definitions: ["r:1:public.s": "d"]),
        ])
        let archive = ProjectArchive(inspected)
        #expect(archive.version != ProjectArchive(project(in: "x/")).version)
        let stored = try ProjectArchive(parsing: archive.text)
        #expect(stored.project.sqlReads == inspected.sqlReads && stored.version == archive.version)
        #expect(!ProjectArchive(project(in: "x/")).text.contains("sqlReads"))
        for (good, bad) in [("\"rows\"", "\"some\""), ("[\"a\",\"b\"]", "[\"a\",1]"), ("\"d\"", "1")] {
            #expect(throws: ProjectArchive.Failure.self) {
                try ProjectArchive(parsing: archive.text.replacing(good, with: bad))
            }
        }
    }

    /// A setting of `connector.yaml` that changes results is part of the version.
    @Test func entityIDsAreKept() throws {
        var cached = project(in: "x/")
        cached.connectors[0].includesEntityIDs = true
        let archive = ProjectArchive(cached)
        #expect(archive.version != ProjectArchive(project(in: "x/")).version)
        #expect(archive.project.connectors.map(\.includesEntityIDs) == [true])
        #expect(try ProjectArchive(parsing: archive.text).project.connectors.map(\.includesEntityIDs) == [true])
    }

    @Test func storedTextIsReadBack() throws {
        let archive = ProjectArchive(project(in: "x/"))
        let back = try ProjectArchive(parsing: archive.text)
        #expect(back.version == archive.version)
        #expect(back.text == archive.text)
        #expect(back.project.connectors.map(\.id) == ["c"])
        #expect(back.project.connectors.map(\.includesEntityIDs) == [false])
        #expect(back.project.schemaFiles.map(\.text) == archive.project.schemaFiles.map(\.text))
        for text in ["", "[]", #"{"serviceId":"s"}"#] {
            #expect(throws: ProjectArchive.Failure.self) { try ProjectArchive(parsing: text) }
        }
    }
}
