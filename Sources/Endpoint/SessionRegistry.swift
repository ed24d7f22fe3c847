package import Gateway
package import NIOCore
internal import Synchronization

/// The sessions of a node, so that a drain can tell each to come back elsewhere. Bound: the endpoint's `sessionsMax`.
package final class SessionRegistry: Sendable {
    private struct Entry: Sendable {
        let session: NIOLoopBound<any Drainable>
        let eventLoop: any EventLoop
    }

    private let entries = Mutex<[UInt64: Entry]>([:])
    private let nextID = Atomic<UInt64>(0)

    package init() {}

    package var count: Int { entries.withLock { $0.count } }

    func makeID() -> UInt64 { nextID.wrappingAdd(1, ordering: .relaxed).newValue }

    func insert(_ session: any Drainable, id: UInt64, eventLoop: any EventLoop) {
        let bound = NIOLoopBound(session, eventLoop: eventLoop)
        entries.withLock { $0[id] = Entry(session: bound, eventLoop: eventLoop) }
    }

    func remove(_ id: UInt64) {
        _ = entries.withLock { $0.removeValue(forKey: id) }
    }

    /// Tells every session to come back elsewhere, spread over `overMs`, so that the others are not stormed.
    package func drain(overMs: Int64) async {
        let all = entries.withLock { Array($0.values) }
        let portions = max(1, min(all.count, Int(overMs / 20)))
        for portion in 0..<portions {
            for index in stride(from: portion, to: all.count, by: portions) {
                let entry = all[index]
                entry.eventLoop.execute { entry.session.value.goAway() }
            }
            if portion + 1 < portions { try? await Task.sleep(for: .milliseconds(overMs / Int64(portions))) }
        }
    }
}
