import JSON
import LiveModel
import Testing

@Suite struct ShardStatusTests {
    private let status: ShardStatus = {
        var takeOver = TakeOverCounts()
        (takeOver.replayed, takeOver.announced, takeOver.kept, takeOver.rerun, takeOver.losses) = (1, 2, 3, 4, 5)
        return ShardStatus(
            shard: ShardID(7), epoch: 1_732_000_000_000, ownedSinceMs: 10, liveQueries: 11, due: 12, running: 13,
            paced: 14, waiting: 15, lastEventID: StreamID(ms: 16, sequence: 17), lastRefreshMs: 18,
            takeOver: takeOver)
    }()

    @Test func travelsWithTheNodeRecord() {
        let record = NodeRecordPayload(
            id: NodeID("w"), roles: [.worker], address: "a:1", adminAddress: "", version: "1", startedAtMs: 1,
            isDraining: false, load: 2, shards: [status])
        #expect(NodeRecordPayload(payload: record.payload) == record)
    }

    @Test func anotherFormIsLeftOut() {
        for json: JSONValue in [.null, [], [1, 2], .array(Array(repeating: .int(1), count: 15))] {
            var defects = StoredDefects()
            #expect(ShardStatus(json: json, defects: &defects) == nil)
            #expect(defects.count == 1)
        }
    }

    @Test func numbersOutOfRangeAreClampedAndCounted() throws {
        var parts = try #require(status.json.arrayValue)
        (parts[1], parts[2], parts[3], parts[8]) = (.int(-1), .int(.max), .int(.min), .int(.max))
        var defects = StoredDefects()
        let read = try #require(ShardStatus(json: .array(parts), defects: &defects))
        #expect(read.epoch == 0 && read.ownedSinceMs == StoredNumber.timeMaxMs && read.liveQueries == 0)
        #expect(read.lastRefreshMs == StoredNumber.timeMaxMs && defects.count == 4)
        #expect(defects.first == "the epoch of shard 7: -1")
    }
}
