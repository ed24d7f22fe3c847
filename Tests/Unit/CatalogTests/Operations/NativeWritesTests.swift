import Catalog
import DeploymentPlan
import JSON
import LiveModel
import Operations
import QuerySQL
import SchemaModel
import Testing

/// Mutations whose native SQL writes what the database says.
@Suite struct NativeWritesTests {
    private static let text = "UPDATE bid SET amount = 1"

    private static func project(
        _ found: SQLWrites.Finding?, source: AutomaticRefresh.Source = .mutations
    ) -> Project {
        var project = Project(
            serviceID: "s",
            schemaFiles: [
                SourceFile(
                    path: "schema.gql",
                    text: """
                        type Lot @table(key: "id") { id: Int! title: String! }
                        type Bid @table(key: "id") { id: Int! lot: Lot! amount: Int! by: String }
                        """)
            ],
            connectors: [
                ConnectorSource(
                    id: "main",
                    files: [
                        SourceFile(
                            path: "q.gql",
                            text: """
                                query Lots @auth(level: PUBLIC) { lots { title } }
                                query Bids @auth(level: PUBLIC) { bids(orderBy: [{id: ASC}]) { amount } }
                                mutation M @auth(level: PUBLIC) { _execute(sql: "\(text)", params: []) }
                                """)
                    ])
            ], automaticRefresh: AutomaticRefresh(mode: .all, source: source))
        if let found { project.sqlWrites = SQLWrites([text: found]) }
        return project
    }

    private static func found(
        inserts: Bool = false, deletes: Bool = false, _ updates: SQLWrites.Updates = .none, table: String = "bid"
    ) -> SQLWrites.Finding {
        .init(
            tables: [.init(name: table, inserts: inserts, deletes: deletes, updates: updates)],
            definitions: ["w:1:public.bid": "a"])
    }

    private static let mutation = OperationReference(connector: "main", operation: "M")

    private static func refreshed(_ found: SQLWrites.Finding?) throws -> [String] {
        try Catalog.compile(project(found)).queriesRefreshed(by: mutation).map(\.operation)
    }

    @Test func theQueriesThatReadTheTablesAreRefreshed() throws {
        #expect(try Self.refreshed(nil) == ["Bids", "Lots"])
        #expect(try Self.refreshed(Self.found(deletes: true)) == ["Bids"])
        #expect(try Self.refreshed(Self.found(.columns(["amount"]))) == ["Bids"])
        #expect(try Self.refreshed(.init(tables: [])) == [])
        #expect(try Self.refreshed(Self.found(inserts: true, table: "stranger")) == [])
    }

    private static func rows(_ found: SQLWrites.Finding?) throws -> [String]? {
        let operation = try #require(try Catalog.compile(project(found)).operation(mutation))
        let call = try operation.mutationCall(
            variables: [:], auth: nil, nowMs: 0, recordedFields: [:], makeUUID: { "" })
        return call.rows?.all.map(\.text)
    }

    @Test func eventsTellTheTablesAndFields() throws {
        #expect(try Self.rows(nil) == nil)
        let fields = Self.found(.columns(["amount", "lot_id"]))
        #expect(try Self.rows(fields) == [#"["bid",{},{},["amount","lotId"],true]"#])
        #expect(try Self.rows(Self.found(inserts: true)) == [#"["bid",null,{},null,true]"#])
        #expect(try Self.rows(Self.found(deletes: true)) == [#"["bid",{},null,null,true]"#])
        // A column without a field may have one in a later version, whose sessions run queries beside this one.
        #expect(try Self.rows(Self.found(.columns(["amount", "note"]))) == [#"["bid",{},{},null,true]"#])
        #expect(try Self.rows(Self.found(.anyColumn)) == [#"["bid",{},{},null,true]"#])
        #expect(try Self.rows(Self.found(deletes: true, table: "stranger")) == [#"["stranger",{},{},null,true]"#])
        #expect(try Self.rows(.init(tables: [])) == [])
    }

    @Test func findingsArePartOfTheStoredProject() throws {
        let without = ProjectArchive(Self.project(nil))
        #expect(!without.text.contains("sqlWrites"))
        for found in [
            Self.found(inserts: true), Self.found(deletes: true, .anyColumn), Self.found(.columns(["amount", "by"])),
        ] {
            let archive = ProjectArchive(Self.project(found))
            #expect(archive.version != without.version)
            let read = try ProjectArchive(parsing: archive.text)
            #expect(read.project.sqlWrites[Self.text] == found && read.version == archive.version)
        }
        let archive = ProjectArchive(Self.project(Self.found(inserts: true, .columns(["amount"]))))
        for (good, bad) in [("[\"amount\"]", "[1]"), ("[\"amount\"]", "false"), ("true", "1"), ("\"a\"", "1")] {
            #expect(archive.text.contains(good))
            #expect(throws: ProjectArchive.Failure.self) {
                try ProjectArchive(parsing: archive.text.replacing(good, with: bad))
            }
        }
    }

    /// Nothing depends on them with the log as a source.
    @Test func definitionsOfWritesConcernQueriesThatEventsRefresh() throws {
        func concerned(_ source: AutomaticRefresh.Source) throws -> [String] {
            let catalog = try Catalog.compile(Self.project(Self.found(inserts: true), source: source))
            return CatalogSet(current: .init(version: Digest(of: "v".utf8), catalog: catalog)).sqlDefinitions
                .map(\.query.operation).sorted()
        }
        #expect(try concerned(.mutations) == ["Bids", "Lots"])
        #expect(try concerned(.both) == [])
        #expect(try concerned(.wal) == [])
    }

    /// The definition changed while the database was asked.
    @Test func findingsThatContradictEachOtherHoldOfNoDefinition() {
        let writes = SQLWrites([
            "a": .init(tables: [], definitions: ["w:1:x": "1", "r:1:x": "3"]),
            "b": .init(tables: [], definitions: ["w:1:x": "2", "r:1:x": "3"]),
        ])
        #expect(writes.definitions == ["w:1:x": "", "r:1:x": "3"])
    }
}
