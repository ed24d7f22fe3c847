import Streams
import Testing

@testable import Broker

/// A command thread's decisions: what to group, send again or give up, and when to connect.
@Suite("Batch plan")
struct BatchPlanTests {
    private typealias Closing = CommandInbox.Closing

    /// A request that its number identifies by its deadline.
    private func request(_ number: UInt64, _ word: String = "PING", isRepeatable: Bool = false) -> CommandRequest {
        CommandRequest(
            commands: CommandBuffer(word), isRepeatable: isRepeatable, deadlineNs: number, completion: nil)
    }

    private func numbers(_ requests: [CommandRequest]) -> [UInt64] { requests.map(\.deadlineNs) }

    private func plan(
        _ waiting: [CommandRequest] = [], requestsMax: Int = 3, bytesMax: Int = 1 << 20
    ) -> BatchPlan {
        var configuration = RedisConfiguration(endpoint: .tcp(host: "h", port: 1))
        configuration.batchRequestsMax = requestsMax
        configuration.batchBytesMax = bytesMax
        configuration.reconnectMinMs = 10
        configuration.reconnectMaxMs = 40
        var plan = BatchPlan(configuration)
        plan.waiting = waiting
        return plan
    }

    private func error(_ message: String) -> RedisValue { .error(RedisFailure(message: message)) }
    private func longest(_ range: ClosedRange<Int>) -> Int { range.upperBound }

    @Test("the next step: a connection sends what waits, or is lent to callers")
    func steps() {
        func name(_ step: BatchPlan.Step<Int>) -> String { "\(step)" }
        #expect(name(plan().step(nil)) == "reconnect" && name(plan([request(1)]).step(nil)) == "reconnect")
        #expect(name(plan().step(7)) == "lend(7)" && name(plan([request(1)]).step(7)) == "sendBatch(7)")
    }

    @Test("a closing inbox ends the thread, once nothing can be sent")
    func closing() {
        let (gentle, abrupt) = (
            Closing(error: BrokerError(.closed), isAbrupt: false), Closing(error: BrokerError(.closed), isAbrupt: true)
        )
        let waiting = plan([request(1)])
        #expect(!waiting.isOver(gentle, isConnected: true))
        #expect(waiting.isOver(gentle, isConnected: false) && waiting.isOver(abrupt, isConnected: true))
        #expect(plan().isOver(gentle, isConnected: true))
    }

    @Test("batches: the oldest requests within the number and the bytes, and at least one")
    func batches() {
        let size = request(1).commands.bytes.count
        let cases: [(requestsMax: Int, bytesMax: Int, batches: [[UInt64]])] = [
            (10, 10 * size, [[1, 2, 3, 4, 5]]), (2, 10 * size, [[1, 2], [3, 4], [5]]),
            (10, 3 * size, [[1, 2, 3], [4, 5]]), (10, 3 * size - 1, [[1, 2], [3, 4], [5]]),
            (10, 1, [[1], [2], [3], [4], [5]]), (5, 5 * size, [[1, 2, 3, 4, 5]]),
        ]
        for one in cases {
            var plan = plan((1...5).map { request($0) }, requestsMax: one.requestsMax, bytesMax: one.bytesMax)
            let batches = one.batches.map { _ in numbers(plan.takeBatch()) }
            #expect(batches == one.batches && plan.waiting.isEmpty, "\(one)")
            #expect(plan.takeBatch().isEmpty)
        }
    }

    @Test("requests past their deadline are given up, the others keep their order")
    func deadlines() {
        var plan = plan([5, 2, 9, 3].map { request($0) })
        #expect(plan.takeExpired(nowNs: 1).isEmpty && plan.waiting.count == 4)
        #expect(numbers(plan.takeExpired(nowNs: 3)) == [2, 3])
        #expect(numbers(plan.waiting) == [5, 9])
    }

    @Test("attempts to connect wait for the back-off, but no longer than the first deadline")
    func attempts() {
        let ms: UInt64 = 1_000_000
        var plan = plan()
        #expect(plan.attempt(nowNs: 0) == .connect)
        for waitMs: UInt64 in [10, 20, 40, 40] {
            plan.disconnected(nowNs: ms, longest)
            #expect(plan.attempt(nowNs: ms) == .wait(untilNs: (1 + waitMs) * ms))
            #expect(plan.attempt(nowNs: (1 + waitMs) * ms) == .connect)
        }
        plan.waiting = [request(30 * ms), request(20 * ms)]
        #expect(plan.attempt(nowNs: ms) == .wait(untilNs: 20 * ms))
        plan.answered()
        plan.disconnected(nowNs: ms, longest)
        #expect(plan.attempt(nowNs: ms) == .wait(untilNs: 11 * ms))
    }

    @Test("another server ends the back-off, at once while there is no connection")
    func serverChanged() {
        let ms: UInt64 = 1_000_000
        for isConnected in [true, false] {
            var plan = plan()
            plan.disconnected(nowNs: 0, longest)
            plan.disconnected(nowNs: 0, longest)
            plan.serverChanged(isConnected: isConnected)
            #expect(plan.attempt(nowNs: 0) == (isConnected ? .wait(untilNs: 20 * ms) : .connect))
            plan.disconnected(nowNs: 0, longest)
            #expect(plan.attempt(nowNs: 0) == .wait(untilNs: 10 * ms))
        }
    }

    @Test("replies answer a request, unless the server executed nothing because of its role or phase")
    func replies() {
        let cases: [(values: [RedisValue], isAnswer: Bool)] = [
            ([.status("PONG")], true), ([error("ERR no")], true), ([error("OOM no memory")], true),
            ([error("LOADING x")], false), ([error("READONLY x")], false), ([error("MASTERDOWN x")], false),
            ([error("NOAUTH x")], false), ([error("READONLY x"), error("READONLY x")], false),
            ([.status("PONG"), error("READONLY x")], true), ([error("READONLY x"), error("ERR no")], true),
        ]
        for one in cases {
            var batch = SentBatch([request(1)])
            #expect(batch.arrived(one.values) == one.isAnswer, "\(one.values)")
            #expect(batch.wantsReconnect == !one.isAnswer)
            #expect(numbers(batch.again) == (one.isAnswer ? [] : [1]))
            #expect(batch.lost().isEmpty)
        }
    }

    @Test("a lost connection: what is harmless is sent again first, in order, the rest is unknown")
    func lost() {
        let requests = [
            request(1), request(2), request(3, isRepeatable: true), request(4), request(5, isRepeatable: true),
        ]
        let cases: [(arrived: [String], again: [UInt64], unknown: [UInt64])] = [
            ([], [3, 5], [1, 2, 4]), (["ERR"], [3, 5], [2, 4]), (["READONLY", "ERR"], [1, 3, 5], [4]),
            (["ERR", "ERR", "ERR", "ERR"], [5], []), (["ERR", "LOADING", "LOADING"], [2, 3, 5], [4]),
        ]
        for one in cases {
            var batch = SentBatch(requests)
            for word in one.arrived { _ = batch.arrived([error(word)]) }
            #expect(numbers(batch.lost()) == one.unknown && numbers(batch.again) == one.again, "\(one)")
            var plan = plan([request(9)])
            plan.sendAgain(batch.again)
            #expect(numbers(plan.waiting) == one.again + [9])
        }
    }
}
