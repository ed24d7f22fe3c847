package import Broker
package import Execution
internal import LiveModel
package import Logging
internal import Metrics
package import Postgres
internal import Synchronization

/// Brings committed events from the outbox to the shards' streams, then removes their rows in batches.
///
/// At least once: a row whose publishing is not certain stays and the sweeper of any node publishes it again. Bounds:
/// `inFlightMax` events being published (more stay in the outbox for the sweeper) and as many removals waiting.
package final class EventPublisher: Sendable {
    package struct Settings: Sendable {
        package var inFlightMax = 10_000
        /// Rows removed by one statement.
        package var deleteBatchMax = 500
        /// How long a published row may wait for company before it is removed.
        package var deleteBatchMs: Int64 = 50
        /// Entries that an events stream keeps at least.
        package var eventsLengthMax = 100_000

        package init() {}
    }

    private struct State {
        var inFlight = 0
        var published: [String] = []
        var isRemoving = false
    }

    private let broker: any Broker
    private let pool: PostgresPool
    private let settings: Settings
    private let logger: Logger
    private let state = Mutex(State())
    private let published = Counter(label: "freshet_events_published_total")
    private let deferred = Counter(label: "freshet_events_deferred_total")

    private static let removal = Statement("DELETE FROM freshet.outbox WHERE id = ANY($1::uuid[])")

    package init(broker: any Broker, pool: PostgresPool, settings: Settings, logger: Logger) {
        self.broker = broker
        self.pool = pool
        self.settings = settings
        self.logger = logger
    }

    /// Publishes in the background; the caller's acknowledgement does not wait for it.
    package func publish(_ row: OutboxRow) {
        let isAccepted = state.withLock { state in
            guard state.inFlight < settings.inFlightMax else { return false }
            state.inFlight += 1
            return true
        }
        guard isAccepted else {
            deferred.increment()
            return
        }
        Task {
            do {
                _ = try await broker.append(appends(of: row))
                published.increment()
                finished(row.id)
            } catch {
                deferred.increment()
                finished(nil)
                logger.warning("event left to the sweeper", metadata: ["event": "\(row.id)", "error": "\(error)"])
            }
        }
    }

    /// One entry per shard; the sweeper uses the same.
    package func appends(of row: OutboxRow) -> [StreamAppend] {
        row.shards.map { shard in
            StreamAppend(
                stream: broker.keys.events(shard: shard.number), fields: [("e", row.event)],
                lengthMax: settings.eventsLengthMax)
        }
    }

    private func finished(_ id: String?) {
        let startsRemoval = state.withLock { state in
            state.inFlight -= 1
            // Rows beyond the bound stay; the sweeper publishes them once more, which is harmless.
            if let id, state.published.count < settings.inFlightMax { state.published.append(id) }
            guard !state.isRemoving, !state.published.isEmpty else { return false }
            state.isRemoving = true
            return true
        }
        if startsRemoval { Task { await remove() } }
    }

    private func remove() async {
        while true {
            try? await Task.sleep(for: .milliseconds(settings.deleteBatchMs))
            let batch: [String] = state.withLock { state in
                let batch = Array(state.published.prefix(settings.deleteBatchMax))
                state.published.removeFirst(batch.count)
                if batch.isEmpty { state.isRemoving = false }
                return batch
            }
            if batch.isEmpty { return }
            do {
                _ = try await pool.transaction([(Self.removal, [.text(PostgresArray.literal(batch))])])
            } catch {
                logger.warning("outbox rows not removed", metadata: ["rows": "\(batch.count)", "error": "\(error)"])
            }
        }
    }

    /// Waits until what was accepted is published and removed, or the time is over.
    package func drain(withinMs: Int64) async {
        let deadline = ContinuousClock.now + .milliseconds(withinMs)
        while ContinuousClock.now < deadline {
            let isIdle = state.withLock { $0.inFlight == 0 && $0.published.isEmpty && !$0.isRemoving }
            if isIdle { return }
            try? await Task.sleep(for: .milliseconds(5))
        }
    }
}
