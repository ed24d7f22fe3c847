import LiveModel
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import Gateway

/// How the sessions of a node that leaves are spread over the time they are given.
@Suite struct DrainTests {
    @Test(
        "everybody once, evenly, and in time",
        arguments: [
            (0, 1_000), (1, 1_000), (7, 30_000), (7, 0), (50, 1_000), (51, 1_000), (20_000, 30_000), (999, 10),
            (100_000, 600_000), (3, -5),
        ] as [(Int, Int64)])
    func plan(_ sessions: Int, _ overMs: Int64) {
        let plan = DrainPlan(sessions: sessions, overMs: overMs)
        let portions = (0..<plan.portions).map { Array(plan.members(of: $0)) }
        #expect(portions.flatMap(\.self).sorted() == Array(0..<sessions))
        let sizes = portions.map(\.count)
        #expect((sizes.max() ?? 0) - (sizes.min() ?? 0) <= 1)

        let times = (0..<plan.portions).map(plan.atMs)
        #expect(times.first ?? 0 == 0)
        #expect(times.allSatisfy { $0 == 0 || $0 < overMs })
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= DrainPlan.stepMs })
        // No second has more than its part, but for one session more in each portion and one portion more.
        guard overMs >= 1_000 else { return }
        let part = Double(sessions) * 1_000 / Double(overMs)
        for from in stride(from: 0, to: overMs, by: Int(max(250, overMs / 40))) {
            let asked = zip(times, sizes).filter { (from..<from + 1_000).contains($0.0) }.reduce(0) { $0 + $1.1 }
            #expect(Double(asked) <= part + Double(1_000 / DrainPlan.stepMs) + Double(sizes.max() ?? 0))
        }
    }

    /// Counts how often it was informed.
    private final class Session: ManagedSession {
        let asked: Atomic<Int>
        let isLast: () -> Void
        let protocolName = "test"

        init(isLast: @escaping () -> Void) {
            asked = Atomic(0)
            self.isLast = isLast
        }

        func goAway() {
            asked.wrappingAdd(1, ordering: .relaxed)
            isLast()
        }

        func recheckIdentity() {}
    }

    @Test("a registry informs each of its sessions once, and after a deployment only those of other versions")
    func registry() async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let registry = SessionRegistry()
        let (old, new) = (Digest(of: "old".utf8), Digest(of: "new".utf8))
        let asked = Mutex<[UInt64: Int]>([:])
        try await eventLoop.submit {
            for number in UInt64(0)..<100 {
                let session = Session { asked.withLock { $0[number, default: 0] += 1 } }
                registry.insert(
                    session, id: number, eventLoop: eventLoop, peer: nil, client: ClientDescription(),
                    version: number < 40 ? old : new)
            }
        }.get()
        #expect(await registry.drain(except: [new], overMs: 100) == 40)
        // This task runs after those that the event loop received before it.
        try await eventLoop.submit {}.get()
        #expect(asked.withLock { $0 } == Dictionary(uniqueKeysWithValues: (UInt64(0)..<40).map { ($0, 1) }))
        #expect(await registry.drain(except: [old, new], overMs: 100) == 0)
        await registry.drain(overMs: 0)
        try await eventLoop.submit {}.get()
        #expect(asked.withLock { $0.values.reduce(0, +) } == 140)
    }
}
