import JSON
import LiveModel
import Testing

@testable import Refresh

/// Due live queries that take long: whose turn it is.
@Suite struct ClientQueueTests {
    private let group = DueQueue.Group(
        operation: RefreshFixture.operation("Slow"), version: RefreshFixture.version, kind: .alone)

    private func client(_ number: UInt64) -> RunPriority.Client { .known(ClientID(number: number)) }

    /// Appends live queries of one client.
    private func append(
        _ slots: some Sequence<Int32>, of number: UInt64, isFirst: Bool = false, group: DueQueue.Group? = nil,
        to queue: inout ClientQueue
    ) {
        for slot in slots {
            queue.append(slot, to: group ?? self.group, RunPriority(client: client(number), isFirst: isFirst))
        }
    }

    /// The slots of all turns.
    private func drain(_ queue: inout ClientQueue, limit: Int = 1) -> [[Int32]] {
        var slots: [[Int32]] = []
        while let turn = queue.next(limit: { _ in limit }) { slots.append(turn.slots) }
        return slots
    }

    @Test func clientsTakeTurns() {
        var queue = ClientQueue(runsMax: 1)
        append(0..<5, of: 1, to: &queue)
        append(10..<11, of: 2, to: &queue)
        append(20..<22, of: 3, to: &queue)
        #expect(queue.count == 8)
        #expect(drain(&queue).flatMap(\.self) == [0, 10, 20, 1, 21, 2, 3, 4])
        #expect(queue.count == 0)
    }

    @Test func clientOfSeveralOperationsHasOneTurn() {
        var queue = ClientQueue(runsMax: 1)
        for number in Int32(0)..<6 {
            let other = DueQueue.Group(
                operation: RefreshFixture.operation("Slow\(number)"), version: RefreshFixture.version, kind: .alone)
            append([number], of: 1, group: other, to: &queue)
        }
        append([10], of: 2, to: &queue)
        #expect(drain(&queue).flatMap(\.self).prefix(2) == [0, 10])
    }

    @Test func firstResultsGoBeforeRepeatsOfWhichOneInFourRuns() {
        var queue = ClientQueue(runsMax: 1)
        append(0..<3, of: 1, to: &queue)
        append(10..<18, of: 2, isFirst: true, to: &queue)
        #expect(drain(&queue).flatMap(\.self) == [10, 11, 12, 0, 13, 14, 15, 1, 16, 17, 2])
    }

    @Test func noClientHasAllRuns() throws {
        var queue = ClientQueue(runsMax: 3)
        append(0..<5, of: 1, to: &queue)
        for batch in UInt64(1)...2 {
            let turn = try #require(queue.next { _ in 1 })
            queue.began(batch, of: turn.clients)
        }
        #expect(queue.next { _ in 1 } == nil && queue.count == 3)
        append([10], of: 2, isFirst: true, to: &queue)
        #expect(queue.next { _ in 1 }?.slots == [10])
        queue.ended(1)
        #expect(queue.next { _ in 1 }?.slots == [2])
    }

    @Test func repeatsRunWhileTheClientOfAllFirstResultsIsBlocked() throws {
        var queue = ClientQueue(runsMax: 2)
        append(0..<3, of: 1, isFirst: true, to: &queue)
        append([10], of: 2, to: &queue)
        queue.began(1, of: try #require(queue.next { _ in 1 }).clients)
        #expect(queue.next { _ in 1 }?.slots == [10])
    }

    @Test func clientsShareAStatementInTheOrderOfTheirTurns() {
        var queue = ClientQueue(runsMax: 1)
        let other = DueQueue.Group(
            operation: RefreshFixture.operation("Other"), version: RefreshFixture.version, kind: .suspect(batchMax: 8))
        append(0..<6, of: 1, to: &queue)
        append([10], of: 2, to: &queue)
        append([20], of: 3, group: other, to: &queue)
        append(30..<32, of: 4, to: &queue)
        #expect(drain(&queue, limit: 5) == [[0, 10, 30, 1, 31], [20], [2, 3, 4, 5]])
    }

    @Test func unwantedLiveQueriesLeaveTheQueue() {
        var queue = ClientQueue(runsMax: 1)
        append(0..<100, of: 1, to: &queue)
        append(100..<102, of: 2, isFirst: true, to: &queue)
        queue.keep { $0 % 50 == 0 }
        #expect(queue.count == 3)
        #expect(drain(&queue).flatMap(\.self) == [100, 0, 50])
    }
}
