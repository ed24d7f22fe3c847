package import Broker
package import LiveModel
package import Streams
import Synchronization

/// A node's copy of the history of invalidations. Its generation is polled; the history is read when that changed.
package final class InvalidationList: Sendable {
    private let broker: any Broker
    private let countMax: Int
    private let makeMark: @Sendable () -> String
    private let latest = Mutex(Invalidations())

    /// - Parameters:
    ///   - countMax: the invalidations that the history keeps; the oldest go first.
    ///   - makeMark: returns a text without spaces that no other history or change has.
    package init(broker: any Broker, countMax: Int, makeMark: @escaping @Sendable () -> String) {
        self.broker = broker
        self.countMax = countMax
        self.makeMark = makeMark
    }

    package var current: Invalidations { latest.withLock { $0 } }

    /// Reads the history if its generation changed, and begins it if there is none. Takes one short command otherwise.
    /// - Returns: whether the history changed.
    @discardableResult
    package func refresh() async throws(BrokerError) -> Bool {
        let generation = try await broker.overridesGeneration(in: .invalidations)
        if generation == current.generation, current.mark != nil { return false }
        var read = try await fetch()
        if read.mark == nil {
            // Several nodes may do so; the last one's mark stays, and clients that know another one drop everything.
            try await broker.changeOverrides(Invalidations.beginning(mark: makeMark()), in: .invalidations)
            read = try await fetch()
        }
        let found = read
        return latest.withLock { latest in
            // A read that took longer must not bring back what was before.
            guard found.mark != latest.mark || found.generation > latest.generation else { return false }
            latest = found
            return true
        }
    }

    private func fetch() async throws(BrokerError) -> Invalidations {
        let stored = try await broker.overrides(in: .invalidations)
        return Invalidations(fields: stored.fields, generation: stored.generation)
    }

    /// Tells all clients to drop something.
    /// - Throws: `.unavailable` when the broker cannot be reached.
    package func invalidate(_ subject: InvalidationSubject) async throws(RequestError) {
        do throws(BrokerError) {
            try await refresh()
            let changes = current.adding(subject, countMax: countMax, name: makeMark())
            try await broker.changeOverrides(changes, in: .invalidations)
            try await refresh()
        } catch {
            throw RequestError(.unavailable, "\(error)")
        }
    }
}
