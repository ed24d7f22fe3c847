import Synchronization
import Testing

@testable import Node

@Suite(.timeLimit(.minutes(1))) struct ClosingStackTests {
    private final class Log: Sendable {
        let lines = Mutex<[String]>([])
        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    @Test func partsAreClosedOnceInTheReverseOrder() async {
        let (parts, log) = (ClosingStack(), Log())
        for name in ["pool", "broker", "port"] { parts.push(name) { _ in log.add(name) } }
        #expect(parts.names == ["pool", "broker", "port"])
        await parts.close()
        await parts.close()
        #expect(log.lines.withLock { $0 } == ["port", "broker", "pool"])
        #expect(parts.names.isEmpty)
    }

    @Test func everyPartLearnsTheGraceOfTheStop() async {
        let (parts, log) = (ClosingStack(), Log())
        parts.push("port") { log.add("\($0.sessionsOverMs) \($0.workMs)") }
        await parts.close(.init(sessionsOverMs: 30, workMs: 40))
        parts.push("port") { log.add("\($0.sessionsOverMs) \($0.workMs)") }
        await parts.close()
        #expect(log.lines.withLock { $0 } == ["30 40", "0 0"])
    }

    @Test func twoStopsAtATimeCloseEachPartOnce() async {
        let (parts, log) = (ClosingStack(), Log())
        for number in 0..<100 { parts.push("\(number)") { _ in log.add("\(number)") } }
        async let first: Void = parts.close()
        async let second: Void = parts.close()
        _ = await (first, second)
        #expect(Set(log.lines.withLock { $0 }).count == 100 && log.lines.withLock { $0.count } == 100)
    }
}

@Suite(.timeLimit(.minutes(1))) struct BackgroundTasksTests {
    @Test func finishingWaitsForEveryTask() async {
        let tasks = BackgroundTasks()
        let ended = Mutex(0)
        for _ in 0..<20 {
            tasks.add {
                while !Task.isCancelled { try? await Task.sleep(for: .seconds(3_600)) }
                ended.withLock { $0 += 1 }
            }
        }
        tasks.cancel()
        await tasks.finish()
        #expect(ended.withLock { $0 } == 20)
    }

    @Test func aTaskThatComesAfterTheCancellationIsCancelled() async {
        let tasks = BackgroundTasks()
        tasks.cancel()
        tasks.add { while !Task.isCancelled { try? await Task.sleep(for: .seconds(3_600)) } }
        await tasks.finish()
    }
}
