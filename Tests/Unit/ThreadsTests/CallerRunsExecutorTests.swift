import Glibc
import Synchronization
import Testing

@testable import Threads

private actor Carried {
    private let executor = CallerRunsExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private(set) var count = 0
    nonisolated let inside = Atomic(0)

    /// - Returns: whether it was alone.
    func increment() -> Bool {
        let isAlone = inside.add(1, ordering: .sequentiallyConsistent).newValue == 1
        count += 1
        usleep(50)
        inside.subtract(1, ordering: .sequentiallyConsistent)
        return isAlone
    }

    /// Reports the thread of this call and of the task it starts.
    func places(_ tell: @escaping @Sendable (Bool) -> Void) {
        tell(isStartedThread)
        Task { tell(self.place()) }
    }

    private func place() -> Bool { isStartedThread }
}

@Suite("an actor carried by the threads that bring its work", .timeLimit(.minutes(1)))
struct CallerRunsExecutorTests {
    @Test("a thread of ours runs an idle actor, for one job only")
    func carried() async {
        let actor = Carried()
        let (stream, observer) = AsyncStream.makeStream(of: Bool.self)
        #expect(startThread(named: "brings") { Task.immediate { await actor.places { observer.yield($0) } } })
        var places: [Bool] = []
        for await place in stream.prefix(2) { places.append(place) }
        #expect(places == [true, false])
    }

    @Test("other threads leave the job to Swift's executor")
    func notCarried() async {
        let actor = Carried()
        let (stream, observer) = AsyncStream.makeStream(of: Bool.self)
        Task.immediate { await actor.places { observer.yield($0) } }
        for await place in stream.prefix(2) { #expect(!place) }
    }

    @Test("jobs of all callers run one at a time, and all of them run")
    func serial() async {
        let actor = Carried()
        let (stream, done) = AsyncStream.makeStream(of: Bool.self)
        for _ in 0..<200 {
            Task { done.yield(await actor.increment()) }
            #expect(startThread(named: "brings") { Task.immediate { done.yield(await actor.increment()) } })
        }
        for await isAlone in stream.prefix(400) { #expect(isAlone) }
        #expect(await actor.count == 400)
    }
}
