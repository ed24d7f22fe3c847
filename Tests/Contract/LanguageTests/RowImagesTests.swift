import Catalog
import Execution
import JSON
import LiveModel
import Postgres
import SchemaMigration
import SchemaModel
import TestSupport
import Testing

extension Language {
    /// The changes of rows that a real Postgres adds to events.
    @Suite struct RowImagesOfMutations {
        private static let schema =
            """
            enum Kind { OPEN CLOSED }
            type Lot @table(key: "id") {
              id: UUID! title: String kind: Kind! big: Int64 shown: Boolean size: Int! @default(value: 3) price: Float
            }
            type Bid @table(key: "id") { id: Int! lot: Lot! amount: Int! }
            """

        /// One query for each field by which events are to tell rows.
        private static let queries =
            """
            query Titles($t: String) @auth(level: PUBLIC) { lots(where: {title: {eq: $t}}) { id } }
            query Kinds($k: Kind) @auth(level: PUBLIC) { lots(where: {kind: {eq: $k}}) { id } }
            query Big($b: Int64) @auth(level: PUBLIC) { lots(where: {big: {eq: $b}, shown: {eq: true}}) { id } }
            query Bids($l: UUID!) @auth(level: PUBLIC) { lot(id: $l) { bids_on_lot { amount } } }
            """

        private static let one = "00000000000000000000000000000001"
        private static let two = "00000000000000000000000000000002"

        private typealias Run = @Sendable (_ number: Int) async throws -> MutationEvent

        /// Runs `body` on an own database.
        /// - Parameter body: receives what runs a mutation and returns its event, as the outbox has it.
        private func withMutations<Result: Sendable>(
            _ mutations: [String], failing: Set<Int> = [],
            _ body: @Sendable @escaping (_ pool: PostgresPool, _ run: Run) async throws -> Result
        ) async throws -> Result {
            let named = mutations.enumerated().map {
                "mutation M\($0.offset) @auth(level: PUBLIC) \($0.element)"
            }
            let catalog = try Catalog.compile(
                Project(
                    serviceID: "images", schemaFiles: [SourceFile(path: "schema.gql", text: Self.schema)],
                    connectors: [
                        ConnectorSource(
                            id: "main",
                            files: [
                                SourceFile(
                                    path: "main.gql", text: Self.queries + "\n" + named.joined(separator: "\n"))
                            ])
                    ], automaticRefresh: AutomaticRefresh(mode: .all)))
            let operations = try #require(catalog.connectors["main"]).operations
            return try await LanguageServer.withOwnDatabase(fill: { pool in
                try await pool.script(ServiceSchema.sql)
                try await pool.script(Migration.create(catalog.schema).map(\.sql).joined(separator: ";\n"))
            }) { pool in
                let executor = MutationExecutor(
                    pool: pool, clock: fixedClock, makeUUID: { "f0000000-0000-4000-8000-00000000000f" })
                return try await body(pool) { number in
                    let operation = try #require(operations["M\(number)"])
                    let outcome = try await executor.run(
                        operation, variables: try operation.coerce([:]), auth: nil,
                        envelope: .init(
                            eventID: "e0000000-0000-4000-8000-\(String(100_000_000_000 + number))", traceID: "t",
                            shards: [ShardID(0)], authReads: .nothing, recordedFields: catalog.recordedFields,
                            loadedDeployment: 0))
                    #expect(outcome.errors.isEmpty != failing.contains(number), "\(mutations[number])")
                    let row = try #require(outcome.event)
                    let stored = try await pool.query(
                        "SELECT event FROM freshet.outbox WHERE id = $1::uuid", [.text(row.id)])
                    #expect(stored.rows.first?[0] == row.event, "the published event is the stored one")
                    return try MutationEvent(encoded: row.event)
                }
            }
        }

        /// Runs mutations one after the other.
        /// - Returns: the rows of each event.
        private func rows(_ mutations: [String], failing: Set<Int> = []) async throws -> [[String]?] {
            try await withMutations(mutations, failing: failing) { _, run in
                var all: [[String]?] = []
                for number in mutations.indices { all.append(Self.texts(try await run(number))) }
                return all
            }
        }

        private static func texts(_ event: MutationEvent) -> [String]? { event.rows?.all.map(\.text).sorted() }

        private static let lot1 = #"{"id":"\#(one)","title":null,"kind":"OPEN","big":null,"shown":null}"#
        private static let insertLots =
            """
            { a: lot_insert(data: {id: "\(one)", kind: OPEN})
              b: lot_insert(data: {id: "\(two)", kind: CLOSED, title: "it's \\"so\\"", big: "9007199254740993",
                shown: true}) }
            """

        @Test func anInsertTellsWhatItLeavesToTheDatabase() async throws {
            let rows = try await rows([Self.insertLots])
            // The request determines the whole second row.
            let second =
                #"{"big":9007199254740993,"id":"\#(Self.two)","kind":"CLOSED","shown":true,"#
                + #""title":"it's \"so\""}"#
            #expect(rows[0] == [#"["lot",null,\#(second),null]"#, #"["lot",null,\#(Self.lot1),null]"#])
        }

        @Test func manyInsertedRowsTellWhatTheyLeaveToTheDatabase() async throws {
            let many = (1...300).map { number in
                #"{id: "\#(String(number + 0x1000_0000, radix: 16))\#(Self.one.dropFirst(8))", kind: OPEN}"#
            }
            let rows = try await rows([
                """
                { lot_insertMany(data: [
                  {id: "\(Self.one)", kind: OPEN}, {kind: CLOSED, id: "\(Self.two)", title: "x"}]) }
                """,
                "{ lot_insertMany(data: [\(many.joined(separator: ", "))]) }",
                // The request determines everything.
                #"{ bid_insertMany(data: [{id: 1, lotId: "\#(Self.one)", amount: 2}]) }"#,
            ])
            let second = #"{"id":"\#(Self.two)","title":"x","kind":"CLOSED","big":null,"shown":null}"#
            #expect(rows[0] == [#"["lot",null,\#(Self.lot1),null]"#, #"["lot",null,\#(second),null]"#])
            // These are too many, also by their guards, one of which is the key.
            #expect(rows[1] == [#"["lot",null,{},null]"#])
            #expect(rows[2]?.count == 1)
        }

        @Test func anUpdateTellsTheRowBeforeAndAfter() async throws {
            let rows = try await rows([
                Self.insertLots,
                #"{ lot_update(id: "\#(Self.one)", data: {size: 4}) }"#,
                #"{ lot_update(id: "\#(Self.one)", data: {kind: CLOSED, title: "x"}) }"#,
                #"{ lot_update(first: {where: {kind: {eq: CLOSED}, title: {eq: "x"}}}, data: {kind: OPEN}) }"#,
                #"{ lot_update(id: "\#(Self.one)", data: {title: "\#(String(repeating: "y", count: 129))"}) }"#,
                #"{ lot_update(id: "0000000000000000000000000000000a", data: {kind: OPEN}) }"#,
            ])
            func lot(_ title: String?, _ kind: String) -> String {
                #"{"id":"\#(Self.one)",\#(title.map { "\"title\":\($0)," } ?? "")"kind":"\#(kind)","#
                    + #""big":null,"shown":null}"#
            }
            #expect(rows[1] == [#"["lot",\#(Self.lot1),\#(Self.lot1),["size"]]"#])
            let changed = lot(#""x""#, "CLOSED")
            #expect(rows[2] == [#"["lot",\#(Self.lot1),\#(changed),["kind","title"]]"#])
            #expect(rows[3] == [#"["lot",\#(changed),\#(lot(#""x""#, "OPEN")),["kind"]]"#])
            // A long text is unknown.
            #expect(rows[4] == [#"["lot",\#(lot(#""x""#, "OPEN")),\#(lot(nil, "OPEN")),["title"]]"#])
            // No row, no change.
            #expect(rows[5] == [])
        }

        @Test func anUpsertTellsTheRowThatItReplaces() async throws {
            let rows = try await rows([
                #"{ lot_upsert(data: {id: "\#(Self.one)", kind: OPEN}) }"#,
                #"{ lot_upsert(data: {id: "\#(Self.one)", kind: CLOSED}) }"#,
                #"{ bid_upsert(data: {id: 1, lotId: "\#(Self.one)", amount: 1}) }"#,
            ])
            let closed = Self.lot1.replacing("OPEN", with: "CLOSED")
            #expect(rows[0] == [#"["lot",null,\#(Self.lot1),["kind"]]"#])
            #expect(rows[1] == [#"["lot",\#(Self.lot1),\#(closed),["kind"]]"#])
            #expect(rows[2] == [#"["bid",null,{"id":1,"lotId":"\#(Self.one)"},["amount","lotId"]]"#])
        }

        /// A row that another transaction changes meanwhile is the one before as that one left it.
        @Test(arguments: [
            (
                #"{ lot_update(id: "\#(one)", data: {title: "c"}) }"#,
                "UPDATE lot SET title = 'b' WHERE id = '\(one)'", one, #"{"id":"\#(one)","title":"b""#
            ),
            (
                #"{ lot_updateMany(where: {size: {eq: 3}}, data: {title: "c"}) }"#,
                "UPDATE lot SET title = 'b' WHERE id = '\(one)'", one, #"{"id":"\#(one)","title":"b""#
            ),
            (
                #"{ lot_upsert(data: {id: "\#(one)", kind: OPEN, title: "c"}) }"#,
                "UPDATE lot SET title = 'b' WHERE id = '\(one)'", one, #"{"id":"\#(one)","title":"b""#
            ),
            // The row that conflicts appears after the look for it: only its key is known.
            (
                #"{ lot_upsert(data: {id: "\#(two)", kind: OPEN, title: "c"}) }"#,
                "INSERT INTO lot (id, kind, title, size) VALUES ('\(two)', 'OPEN', 'b', 1)", two, #"{"id":"\#(two)"},"#
            ),
        ])
        func theRowBeforeIsTheOneThatTheMutationReplaces(
            mutation: String, meanwhile: String, id: String, before: String
        ) async throws {
            let insert = #"{ lot_insert(data: {id: "\#(Self.one)", kind: OPEN, title: "a"}) }"#
            let rows = try await withMutations([insert, mutation]) { pool, run in
                _ = try await run(0)
                return try await pool.withSession { session in
                    try await session.begin()
                    _ = try await session.execute(Statement(meanwhile), [])
                    async let event = run(1)
                    try await waitUntil("the mutation to wait for the lock") {
                        let waiting = try await session.execute(
                            "SELECT count(*) FROM pg_locks WHERE NOT granted", [])
                        return waiting.rows.first?.int(0) ?? 0 > 0
                    }
                    try await session.commit()
                    return Self.texts(try await event)
                }
            }
            #expect(rows?.first?.hasPrefix(#"["lot",\#(before)"#) == true, "\(rows ?? [])")
        }

        @Test func manyRowsAreToldOneByOneUpToABound() async throws {
            let rows = try await rows([
                Self.insertLots,
                #"{ _execute(sql: "INSERT INTO bid SELECT n, '\#(Self.one)', n FROM generate_series(1, 300) n", "#
                    + "params: []) }",
                #"{ bid_updateMany(where: {id: {le: 200}}, data: {amount: 7}) }"#,
                #"{ bid_updateMany(where: {id: {le: 300}}, data: {amount: 8}) }"#,
                #"{ bid_deleteMany(where: {id: {le: 1}}) }"#,
                #"{ lot_updateMany(all: true, data: {size: 1, title: "t"}) }"#,
                #"{ bid_deleteMany(where: {id: {gt: 400}}) }"#,
            ])
            // Native SQL may have changed any row.
            #expect(rows[1] == nil)
            #expect(rows[2]?.count == 200)
            // The field that guards compare, the lot, is the same in all 300 rows.
            #expect(rows[3] == [#"["bid",{"lotId":"\#(Self.one)"},{"lotId":"\#(Self.one)"},["amount"]]"#])
            #expect(rows[4] == [#"["bid",{"id":1,"lotId":"\#(Self.one)"},null,null]"#])
            #expect(rows[5]?.count == 2)
            #expect(rows[6] == [])
        }

        @Test func moreRowsThanAnEventListsMayBeAny() async throws {
            let rows = try await rows([
                #"{ _execute(sql: "INSERT INTO lot (id, kind, title, size) "#
                    + #"SELECT gen_random_uuid(), 'OPEN', n, 0 FROM generate_series(1, 257) n", params: []) }"#,
                #"{ lot_updateMany(where: {size: {eq: 0}}, data: {size: 1}) }"#,
                #"{ lot_deleteMany(where: {title: {nin: ["7", "8"]}}) }"#,
                #"{ lot_deleteMany(all: true) }"#,
            ])
            #expect(rows[1] == [#"["lot",{},{},["size"]]"#])
            #expect(rows[2]?.contains { $0.hasPrefix(#"["lot",{"id""#) } == true)
            // With the bids that follow, which are too many to list.
            #expect(rows[2]?.count == RowChanges.max)
            #expect(rows[2]?.contains(#"["bid",{},null,null,true]"#) == true)
            #expect(rows[3]?.count == 4)
        }

        @Test func rowsThatFollowDeletedOnesAreToldByTheirReferences() async throws {
            func bids(of lot: String) -> String { #"["bid",{"lotId":"\#(lot)"},null,null,true]"# }
            let rows = try await rows([
                Self.insertLots,
                #"{ lot_delete(first: {where: {kind: {eq: CLOSED}}}) }"#,
                #"{ lot_deleteMany(where: {kind: {eq: OPEN}}) }"#,
                #"{ lot_deleteMany(where: {kind: {eq: OPEN}}) }"#,
            ])
            #expect(rows[1]?.filter { $0.contains("bid") } == [bids(of: Self.two)])
            #expect(rows[2]?.filter { $0.contains("bid") } == [bids(of: Self.one)])
            // No row, no follower.
            #expect(rows[3] == [])
        }

        /// A failed field alone is undone without `@transaction`.
        @Test func aFieldThatFailsTellsNothing() async throws {
            let rows = try await rows(
                [
                    Self.insertLots,
                    """
                    {
                      a: lot_update(id: "\(Self.one)", data: {title: "a"})
                      b: lot_insert(data: {id: "\(Self.two)", kind: OPEN})
                      c: lot_update(id: "\(Self.two)", data: {kind: OPEN})
                    }
                    """,
                ], failing: [1])
            #expect(rows[1]?.count == 2)
            #expect(rows[1]?.contains { $0.contains(#""title":"a""#) } == true)
            #expect(rows[1]?.contains { $0.contains(#""kind":"CLOSED""#) && $0.contains(#""kind":"OPEN""#) } == true)
        }
    }
}
