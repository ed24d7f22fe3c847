import JSON
import LiveModel
import Testing

@testable import Execution

@Suite struct EventDraftTests {
    private func draft(_ shards: [ShardID], _ authReads: AuthReads = .nothing) -> EventDraft {
        EventDraft(
            .init(eventID: "e", traceID: "t", shards: shards, authReads: authReads),
            operation: OperationReference(connector: "c", operation: "M"), variables: ["n": 1],
            auth: Auth(uid: "ann", token: ["secret": "x"]), clock: ServiceClock { 7 })
    }

    @Test func theRowHoldsTheEventOfTheMutation() throws {
        let key = EntityKey(table: "Person", values: [.string("1")])
        let row = try #require(draft([ShardID(3), ShardID(4)]).row(keysWritten: [key]))
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
        let row = try #require(draft([ShardID(3)], reads).row(keysWritten: []))
        let event = try MutationEvent(encoded: row.event)
        #expect(event.auth == ["token": [:]] && event.authParts == reads)
    }

    @Test func aMutationThatRefreshesNothingHasNoRow() {
        #expect(draft([]).row(keysWritten: []) == nil)
    }
}
