import ChangeCapture
import JSON
import LiveModel
import SchemaModel
import Testing

@Suite struct TransactionReaderTests {
    private static let id = "6b1e0c4e7a3d4a4f9d0e0123456789a"
    private static let lot: JSONValue = "00000000000000000000000000000001"

    private static func table(_ name: String, _ columns: [(String, ScalarType)]) -> Table {
        Table(
            typeName: name, name: name, singular: name, plural: name + "s",
            columns: columns.map { Column(field: $0.0, name: $0.0, type: ColumnType($0.1), isNullable: true) },
            key: ["id"])
    }

    private static let bid = table(
        "bid", [("id", .uuid), ("lot", .uuid), ("amount", .int), ("big", .string), ("ok", .boolean)])
    private static let full = table("full_bid", [("id", .int), ("note", .string), ("at", .timestamp)])
    private static let felt = table("felt", [("id", .int64), ("m", .enumeration("Mood"))])
    private static let recorded = [
        "bid": RecordedFields(compared: ["id", "lot", "big", "ok"]),
        "full_bid": RecordedFields(compared: ["id", "note"], latter: ["at"]),
        "felt": RecordedFields(compared: ["id", "m"]),
    ]

    private func reader(_ tables: [Table] = [bid, full, felt]) throws -> TransactionReader {
        var reader = TransactionReader(
            tables: CapturedTables(namespace: "public", tables: tables, recordedFields: Self.recorded))
        for relation in [CapturedBytes.bidRelation, CapturedBytes.fullRelation] {
            #expect(try reader.read(ReplicationMessage(decoding: CapturedBytes.bytes(relation))) == nil)
        }
        return reader
    }

    private func transaction(_ messages: [String], tables: [Table] = [bid, full, felt]) throws -> CapturedTransaction {
        var reader = try reader(tables)
        for hex in messages.dropLast() {
            #expect(try reader.read(ReplicationMessage(decoding: CapturedBytes.bytes(hex))) == nil)
        }
        return try #require(try reader.read(ReplicationMessage(decoding: CapturedBytes.bytes(messages.last ?? ""))))
    }

    @Test func anUpdateTellsItsKeyAndRecordedFields() throws {
        let read = try transaction(CapturedBytes.update)
        #expect(read.xid == 0x2DC && read.endLSN == 0x153_7730 && read.committedAtMs == 1_795_739_123_393)
        // `amount` is not recorded, `big` was left as it was.
        #expect(
            read.rows.all == [
                RowChange(
                    table: "bid", before: ["id": .string(Self.id + "b")],
                    after: ["id": .string(Self.id + "b"), "lot": Self.lot, "ok": true])
            ])
    }

    /// Partitions have replica identities of their own, but messages name the table's.
    @Test func aPartitionedTableTellsNothingOfFormerRows() throws {
        let tables = CapturedTables(
            namespace: "public", tables: [Self.bid, Self.full], recordedFields: Self.recorded,
            partitioned: ["bid", "full_bid"])
        var reader = TransactionReader(tables: tables)
        var rows: [RowChange] = []
        for hex in [
            [CapturedBytes.bidRelation], CapturedBytes.update, CapturedBytes.delete, CapturedBytes.fullInsert,
            CapturedBytes.fullUpdate, CapturedBytes.fullDelete,
        ].flatMap(\.self) {
            rows += try reader.read(ReplicationMessage(decoding: CapturedBytes.bytes(hex)))?.rows.all ?? []
        }
        #expect(rows.map(\.before) == [[:], [:], nil, [:], [:]])
        #expect(rows.map { $0.after == nil } == [false, true, false, false, true])
        #expect(rows.allSatisfy { $0.changed == nil })
        #expect(
            tables.tables(
                beyond: CapturedTables(
                    namespace: "public", tables: [Self.bid, Self.full], recordedFields: Self.recorded)) == [
                    "bid", "full_bid",
                ])
    }

    @Test func anUpdateOfTheKeyTellsTheFormerKeyOnly() throws {
        #expect(
            try transaction(CapturedBytes.keyUpdate).rows.all == [
                RowChange(
                    table: "bid", before: ["id": .string(Self.id + "b")],
                    after: ["id": .string(Self.id + "c"), "lot": Self.lot, "ok": true])
            ])
    }

    @Test func aDeletedRowIsKnownByItsKeyOnly() throws {
        #expect(
            try transaction(CapturedBytes.delete).rows.all == [
                RowChange(table: "bid", before: ["id": .string(Self.id + "c")], after: nil)
            ])
    }

    @Test func aFullIdentityTellsBothImagesAndTheDifference() throws {
        let at: JSONValue = "2026-01-02T03:04:05.600000Z"
        #expect(
            try transaction(CapturedBytes.fullInsert).rows.all
                == [RowChange(table: "full_bid", before: nil, after: ["id": 1, "note": "a", "at": at])])
        #expect(
            try transaction(CapturedBytes.fullUpdate).rows.all == [
                RowChange(
                    table: "full_bid", before: ["id": 1, "note": "a", "at": at],
                    after: ["id": 1, "note": nil, "at": at],
                    changed: ["note"])
            ])
        #expect(
            try transaction(CapturedBytes.fullDelete).rows.all
                == [RowChange(table: "full_bid", before: ["id": 1, "note": nil, "at": at], after: nil)])
    }

    @Test func aFieldWithoutAPublishedColumnMayHaveChanged() throws {
        let table = Self.table("full_bid", [("id", .int), ("note", .string), ("generated", .string)])
        #expect(
            try transaction(CapturedBytes.fullUpdate, tables: [table]).rows.all.map(\.changed)
                == [["note", "generated"]])
    }

    @Test func anEnumAndALargeNumberAreExact() throws {
        #expect(
            try transaction(CapturedBytes.enumInsert).rows.all
                == [RowChange(table: "felt", before: nil, after: ["id": .int(9_007_199_254_740_993), "m": "bad"])])
    }

    @Test func aTruncatedTableMayHaveLostAnyRow() throws {
        let rows = try transaction(CapturedBytes.truncate).rows.all
        #expect(rows == [.anything(in: "bid"), .anything(in: "felt")])
    }

    @Test func tablesThatNoSiteReadsAreLeftOut() throws {
        let read = try transaction(CapturedBytes.update, tables: [Self.full])
        #expect(read.rows.all.isEmpty && read.endLSN == 0x153_7730)
        #expect(try transaction(CapturedBytes.beat).rows.all.isEmpty)
    }

    @Test func versionsThatDisagreeAboutAFieldDoNotTellIt() throws {
        let other = Self.table("full_bid", [("id", .int), ("note", .enumeration("Note")), ("at", .timestamp)])
        let changes = try transaction(CapturedBytes.fullUpdate, tables: [Self.full, other]).rows.all
        let row: JSONObject = ["id": 1, "at": "2026-01-02T03:04:05.600000Z"]
        #expect(changes == [RowChange(table: "full_bid", before: row, after: row, changed: ["note"])])
    }

    @Test func aTableWhoseColumnsChangeMayHaveChangedAnywhere() throws {
        var reader = try reader()
        let altered = ReplicationMessage.Relation(
            id: 0x4007, namespace: "public", name: "full_bid", identity: .full,
            columns: [.init(name: "id", isIdentity: true, typeOID: 20)])
        #expect(try reader.read(.begin(commitLSN: 1, committedAtMs: 0, xid: 7)) == nil)
        #expect(try reader.read(.relation(altered)) == nil)
        let read = try #require(try reader.read(.commit(endLSN: 2)))
        #expect(read.rows.all == [.anything(in: "full_bid")])
    }

    @Test func anOwnTransactionHasItsEvent() throws {
        var reader = try reader()
        func outbox(_ namespace: String, _ id: UInt32) -> ReplicationMessage {
            .relation(
                .init(
                    id: id, namespace: namespace, name: "outbox", identity: .primaryKey,
                    columns: [
                        .init(name: "id", isIdentity: true, typeOID: 2950),
                        .init(name: "event", isIdentity: false, typeOID: 25),
                    ]))
        }
        #expect(try reader.read(.begin(commitLSN: 1, committedAtMs: 0, xid: 7)) == nil)
        #expect(try reader.read(outbox("public", 1)) == nil)
        #expect(try reader.read(outbox("freshet", 2)) == nil)
        #expect(try reader.read(.insert(relation: 1, new: [.null, .text([0x30])])) == nil)
        for event in 0..<UInt8(TransactionReader.outboxEventsMax + 1) {
            #expect(try reader.read(.insert(relation: 2, new: [.null, .text([event])])) == nil)
        }
        let read = try #require(try reader.read(.commit(endLSN: 2)))
        #expect(read.outboxEvents == [[0], [1], [2], [3]] && read.rows.all.isEmpty)
    }

    @Test func eventsAndMarksOfTheLogAreToldWithTheirTransaction() throws {
        var reader = try reader()
        func message(_ prefix: String, _ text: String, isTransactional: Bool = true) -> ReplicationMessage {
            .message(isTransactional: isTransactional, lsn: 1, prefix: prefix, content: Array(text.utf8))
        }
        // One outside of transactions is none of Freshet.
        #expect(try reader.read(message("freshet.event", "x", isTransactional: false)) == nil)
        #expect(try reader.read(.begin(commitLSN: 1, committedAtMs: 0, xid: 7)) == nil)
        #expect(try reader.read(message("other", "x")) == nil)
        #expect(try reader.read(message("freshet.event", "e1 {1,2}\n{}")) == nil)
        #expect(try reader.read(message("freshet.mark", "")) == nil)
        var read = try #require(try reader.read(.commit(endLSN: 2)))
        #expect(read.loggedEvents == [OutboxRow(id: "e1", shards: [ShardID(1), ShardID(2)], event: Array("{}".utf8))])
        #expect(read.isMark && !read.hasMoreEvents)
        #expect(try reader.read(.begin(commitLSN: 3, committedAtMs: 0, xid: 8)) == nil)
        for _ in 0...TransactionReader.outboxEventsMax {
            #expect(try reader.read(message("freshet.event", "e {}\n{}")) == nil)
        }
        read = try #require(try reader.read(.commit(endLSN: 4)))
        #expect(read.hasMoreEvents && read.loggedEvents.count == TransactionReader.outboxEventsMax && !read.isMark)
        #expect(throws: TransactionReader.Mistake.self) { try reader.read(message("freshet.event", "e {}\n{}")) }
    }

    @Test func messagesOutOfOrderAreRefused() throws {
        var reader = try reader()
        #expect(throws: TransactionReader.Mistake.self) { try reader.read(.commit(endLSN: 2)) }
        #expect(throws: TransactionReader.Mistake.self) { try reader.read(.insert(relation: 0x4007, new: [])) }
        #expect(try reader.read(.begin(commitLSN: 1, committedAtMs: 0, xid: 7)) == nil)
        #expect(throws: TransactionReader.Mistake.unknownRelation(5)) {
            try reader.read(.insert(relation: 5, new: []))
        }
        #expect(throws: TransactionReader.Mistake.self) {
            try reader.read(.begin(commitLSN: 1, committedAtMs: 0, xid: 8))
        }
    }
}
