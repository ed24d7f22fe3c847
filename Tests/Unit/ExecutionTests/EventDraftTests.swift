import JSON
import LiveModel
import Postgres
import Testing

@testable import Execution

@Suite struct EventDraftTests {
    private func draft(
        _ shards: [ShardID], _ authReads: AuthReads = .nothing, recordedFields: [String: RecordedFields]? = nil,
        outbox: OutboxKind = .table
    ) -> EventDraft {
        EventDraft(
            .init(
                eventID: "e", traceID: "t", shards: shards, authReads: authReads, recordedFields: recordedFields,
                loadedDeployment: 5),
            operation: OperationReference(connector: "c", operation: "M"), variables: ["n": 1],
            auth: Auth(uid: "ann", token: ["secret": "x"]), clock: ServiceClock { 7 }, outbox: outbox)
    }

    /// The content of the log is read as the row.
    @Test func anEventInTheLogHasItsRowBeforeIt() throws {
        let inserted = draft([ShardID(3), ShardID(14)], outbox: .wal).event(keysWritten: [], rows: nil)
        let row = inserted.row(nil)
        #expect(inserted.insertion.statement.sql.contains("pg_logical_emit_message(true, 'freshet.event', $1::bytea)"))
        guard case .binary(let content)? = inserted.insertion.parameters.first else {
            Issue.record("\(inserted.insertion.parameters)")
            return
        }
        #expect(OutboxRow(logMessage: content) == row)
        let later = draft([], outbox: .wal).event(keysWritten: [], rows: nil)
        #expect(later.insertion.statement.sql.contains("WHERE EXISTS (SELECT FROM freshet.deployments"))
        #expect(OutboxRow(logMessage: later.row(nil).logHead + [1]).shards.isEmpty)
    }

    @Test(arguments: ["", "x", "a {1,x,2}\n{}", "\n", "id\n{"])
    func aMessageOfOthersIsAnEventThatNobodyCanRead(text: String) {
        let row = OutboxRow(logMessage: Array(text.utf8))
        #expect((try? MutationEvent(encoded: row.event)) == nil)
    }

    @Test func theRowHoldsTheEventOfTheMutation() throws {
        let key = EntityKey(table: "Person", values: [.string("1")])
        let inserted = draft([ShardID(3), ShardID(4)]).event(keysWritten: [key], rows: nil)
        let (row, insertion) = (inserted.row(nil), inserted.insertion)
        #expect(insertion.statement == row.insertion(into: .table).statement)
        #expect(row.id == "e" && row.shards == [ShardID(3), ShardID(4)])
        let event = try MutationEvent(encoded: row.event)
        #expect(event.keysWritten == [key] && event.committedAtMs == 7 && event.traceID == "t")
        #expect(event.operation == OperationReference(connector: "c", operation: "M"))
        #expect(event.variables == ["n": 1])
        // Only what conditions read leaves the node.
        #expect(event.auth == .null)
        #expect(event.authParts == .nothing)
    }

    @Test func theEventRecordsWhichPartsOfAuthItTells() throws {
        var reads = AuthReads.nothing
        reads.add(path: ["token", "org"])
        let row = draft([ShardID(3)], reads).event(keysWritten: [], rows: nil).row(nil)
        let event = try MutationEvent(encoded: row.event)
        #expect(event.auth == ["token": [:]] && event.authParts == reads)
    }

    @Test func theEventTellsRowsOnlyWhereSomeQueryRefreshesByThem() throws {
        let rows = RowChanges([RowChange(table: "lot", before: nil, after: ["id": 1, "title": "a"], changed: ["id"])])
        let some = RowChanges([RowChange(table: "lot", before: nil, after: ["id": 1], changed: ["id"])])
        let none = RowChanges([RowChange(table: "lot", before: nil, after: [:], changed: ["id"])])
        let recorded = RecordedFields(compared: ["id"])
        for (fields, expected) in [(nil, nil), (["lot": recorded], some), (["bid": recorded], none), ([:], none)]
            as [([String: RecordedFields]?, RowChanges?)]
        {
            let row = draft([ShardID(3)], recordedFields: fields).event(keysWritten: [], rows: rows).row(nil)
            #expect(try MutationEvent(encoded: row.event).rows == expected)
        }
        let unknown = draft([ShardID(3)], recordedFields: [:]).event(keysWritten: [], rows: nil).row(nil)
        #expect(try MutationEvent(encoded: unknown.event).rows == nil)
    }

    /// A later version may refresh what the catalogs of a node that was suspended do not.
    @Test func aMutationThatRefreshesNothingHasARowForLaterDeployments() {
        let inserted = draft([]).event(keysWritten: [], rows: nil)
        let (row, insertion) = (inserted.row(nil), inserted.insertion)
        #expect(row.isForLaterDeployments)
        #expect(
            insertion.statement.sql.contains("WHERE EXISTS (SELECT FROM freshet.deployments WHERE id > $4::bigint)"))
        #expect(insertion.parameters.count == 4)
    }
}
