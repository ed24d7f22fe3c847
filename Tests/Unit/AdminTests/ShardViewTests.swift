import JSON
import LiveModel
import Testing

@testable import Admin

/// The operators' view of one shard.
@Suite struct ShardViewTests {
    private let a = NodeID("a")
    private let b = NodeID("b")

    private func status(due: Int = 0, running: Int = 0, paced: Int = 0, readMs: UInt64 = 10_000) -> ShardStatus {
        ShardStatus(
            shard: ShardID(1), epoch: 2, ownedSinceMs: 500, liveQueries: 9, due: due, running: running, paced: paced,
            waiting: 0, lastEventID: StreamID(ms: readMs, sequence: 0), lastRefreshMs: 0, takeOver: TakeOverCounts())
    }

    private func view(
        owner: NodeID?, wanted: NodeID?, movedTo: NodeID? = nil, status: ShardStatus? = nil, lastMs: UInt64 = 10_000,
        checkpointMs: UInt64? = nil
    ) -> ShardView {
        ShardView(
            shard: ShardID(1), owner: owner, wanted: wanted, movedTo: movedTo, status: status,
            lastID: StreamID(ms: lastMs, sequence: 0), checkpoint: checkpointMs.map { StreamID(ms: $0, sequence: 0) })
    }

    @Test func theVerdictNamesTheWorstProblem() {
        #expect(view(owner: nil, wanted: nil).verdict == "no worker")
        #expect(view(owner: nil, wanted: a).verdict == "no owner; a should take it")
        #expect(view(owner: a, wanted: b, status: status(paced: 1)).verdict == "moving to b")
        #expect(view(owner: a, wanted: a, movedTo: b, status: status()).verdict == "moved to b, which is not live")
        #expect(view(owner: a, wanted: a).verdict == "starting")
        #expect(
            view(owner: a, wanted: a, status: status(due: 5, readMs: 6_000)).verdict == "behind in reading events")
        #expect(view(owner: a, wanted: a, status: status(due: 5, running: 5)).verdict == "behind in runs: 5 due")
        #expect(view(owner: a, wanted: a, status: status(due: 4, running: 5)).verdict == "ok")
        #expect(
            view(owner: a, wanted: a, status: status(paced: 3)).verdict == "catching up (rate-limited): 3 to run")
        #expect(view(owner: a, wanted: a, movedTo: a, status: status()).verdict == "ok")
    }

    @Test func theLagIsThatOfTheBetterSource() {
        #expect(view(owner: a, wanted: a, status: status(readMs: 4_000), checkpointMs: 9_000).behindMs == 1_000)
        #expect(view(owner: a, wanted: a, status: status(readMs: 9_500), checkpointMs: 9_000).behindMs == 500)
        #expect(view(owner: a, wanted: a, checkpointMs: 12_000).behindMs == 0, "the stream was lost")
        #expect(view(owner: a, wanted: a).behindMs == 0, "nothing is known")
        let worst = view(
            owner: a, wanted: a, status: status(readMs: 10_000), lastMs: 10_000 + UInt64(ShardView.behindMsMax))
        #expect(worst.behindMs == ShardView.behindMsMax && worst.verdict == "ok")
    }

    @Test func aSingleUnreadEntryIsAsLateAsItIsOld() {
        func id(_ ms: UInt64) -> StreamID { StreamID(ms: ms, sequence: 0) }
        func lastForMs(previous: StreamID?) -> Int64? {
            ShardView.lastForMs(last: id(20_000), previous: previous, read: id(10_000), nowMs: 20_700)
        }
        #expect(lastForMs(previous: id(10_000)) == 700 && lastForMs(previous: nil) == 700)
        #expect(lastForMs(previous: id(10_001)) == nil, "that one is unread, too")
        var view = view(owner: a, wanted: a, status: status(), lastMs: 20_000)
        #expect(view.behindMs == 10_000)
        view.lastForMs = 700
        #expect(view.behindMs == 700 && view.verdict == "ok")
    }

    @Test func figuresOfTheOwnerComeWithItsHeartbeat() {
        let without = view(owner: a, wanted: b).row(nowMs: 1_000)
        #expect(without["owner"] == "a" && without["isMoving"] == true && without["liveQueries"] == nil)
        let with = view(owner: a, wanted: a, status: status()).row(nowMs: 1_000)
        #expect(with["isMoving"] == false && with["liveQueries"] == 9 && with["ownedForMs"] == 500)
        #expect(with["lastRefreshAgoMs"] == .null, "there was none")
    }
}
