package import Broker
import Catalog
package import Cluster
package import Execution
package import LiveModel
package import Logging
import Metrics
package import Postgres
import Sharding
package import Streams
import Synchronization

/// Brings committed events from the outbox to the shards' streams, then removes their rows in batches.
///
/// At least once: a row whose publishing is not certain stays and the sweeper of any node publishes it again. Before a
/// row is removed, the orders are confirmed, after its commit: where an operation's splits changed in between, the
/// shards that came with the change hear of the event, too (why that is enough: `ClusterOverrides`).
/// Bounds: `inFlightMax` events being published (more stay in the outbox for the sweeper) and as many removals waiting.
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

    private struct Published: Sendable {
        let row: OutboxRow
        let mutation: OperationReference
        /// Of the orders by which the row's shards were found.
        let generation: UInt64
        /// Of the catalogs by which they were found.
        let catalogGeneration: Int64
    }

    private struct State {
        var publication: PublishQueue<Published>
        var hasPublished = false
        /// Changes of the broker's servers that the shards have been told of.
        var serverChangesTold = 0
    }

    private let broker: any Broker
    private let pool: PostgresPool
    private let catalogs: ServedCatalogs
    private let directory: ClusterDirectory
    private let settings: Settings
    private let logger: Logger
    /// Name of each shard's stream of events.
    private let streams: [String]
    private let state: Mutex<State>
    private let published = Counter(label: "freshet_events_published_total")
    private let deferred = Counter(label: "freshet_events_deferred_total")
    private let republished = Counter(label: "freshet_events_republished_after_split_total")

    /// Removes published rows, unless there is a deployment that the publisher had not loaded: the sweeper of a node
    /// that has it publishes them once more.
    static let removal = Statement(
        """
        DELETE FROM freshet.outbox WHERE id = ANY($1::uuid[])
        AND NOT EXISTS (SELECT FROM freshet.deployments WHERE id > $2::bigint)
        RETURNING id
        """)

    /// - Parameter catalogGeneration: loaded before the rows were published for the last time.
    static func removal(of ids: [String], catalogGeneration: Int64) -> PostgresStep {
        (removal, [.text(PostgresArray.literal(ids)), .text(String(catalogGeneration))])
    }

    package init(
        broker: any Broker, pool: PostgresPool, catalogs: ServedCatalogs, directory: ClusterDirectory,
        settings: Settings,
        logger: Logger
    ) {
        self.broker = broker
        self.pool = pool
        self.catalogs = catalogs
        self.directory = directory
        self.settings = settings
        self.logger = logger
        streams = (0..<directory.shardCount).map { broker.keys.events(shard: $0) }
        let publication = PublishQueue<Published>(
            inFlightMax: settings.inFlightMax, deleteBatchMax: settings.deleteBatchMax)
        self.state = Mutex(State(publication: publication))
    }

    /// Publishes in the background; the caller's acknowledgement does not wait for it.
    /// - Parameters:
    ///   - generation: of the orders by which the row's shards were found.
    ///   - catalogGeneration: of the catalogs by which they were found.
    package func publish(
        _ row: OutboxRow, of mutation: OperationReference, generation: UInt64, catalogGeneration: Int64
    ) {
        let isAccepted = state.withLock { state in
            guard state.publication.committed() else { return false }
            state.hasPublished = true
            return true
        }
        guard isAccepted else {
            deferred.increment()
            return
        }
        broker.append(appends(of: row, to: row.shards)) { [self] answer in
            switch answer {
            case .success:
                published.increment()
                finished(
                    Published(
                        row: row, mutation: mutation, generation: generation, catalogGeneration: catalogGeneration))
            case .failure(let error):
                deferred.increment()
                finished(nil)
                // One line each would be a flood while the broker is away; the sweeper tells of the backlog.
                logger.debug("event left to the sweeper", metadata: ["event": "\(row.id)", "error": "\(error)"])
            }
        }
    }

    /// The sweeper publishes past `publish`.
    func notePublished() { state.withLock { $0.hasPublished = true } }

    /// One entry per shard.
    func appends(of row: OutboxRow, to shards: some Sequence<ShardID>) -> [StreamAppend] {
        let fields = [(name: "e", value: row.event)]
        return shards.map { shard in
            StreamAppend(
                stream: stream(of: shard), fields: fields, lengthMax: settings.eventsLengthMax)
        }
    }

    /// A row may name shards that a former cluster had.
    private func stream(of shard: ShardID) -> String {
        streams.indices.contains(shard.number) ? streams[shard.number] : broker.keys.events(shard: shard.number)
    }

    /// The shards that must hear of a committed event by `orders`, which were confirmed after its commit, and those
    /// that its row names.
    func shards(of row: OutboxRow, mutation: OperationReference?, by orders: ClusterOverrides) -> Set<ShardID> {
        guard let mutation else {
            // Nobody can tell whom it concerns.
            return Set((0..<directory.shardCount).map { ShardID($0) })
        }
        return Set(row.shards).union(directory.shards(of: catalogs.set.queriesRefreshed(by: mutation), by: orders))
    }

    var catalogGeneration: Int64 { catalogs.snapshot.generation }

    /// Tells the shards when another server answers than the one that events went to: what that acknowledged last, as
    /// a primary that did not yet know of its successor, may be lost although its rows are removed. An entry without
    /// an event makes everything in the shard run again. Repeat it: what fails is told the next time.
    /// - Throws: `BrokerError`.
    package func tellServerChanges() async throws(BrokerError) {
        let changes = broker.state.serverChanges
        let isNews = state.withLock { state in
            guard state.serverChangesTold != changes, state.hasPublished else {
                state.serverChangesTold = changes
                return false
            }
            return true
        }
        guard isNews else { return }
        _ = try await broker.append(
            (0..<directory.shardCount).map { shard in
                StreamAppend(
                    stream: streams[shard], fields: [("doubt", [])],
                    lengthMax: settings.eventsLengthMax)
            })
        state.withLock { $0.serverChangesTold = changes }
        logger.warning("another redis server answers, all shards run again", metadata: ["changes": "\(changes)"])
    }

    private func finished(_ event: Published?) {
        let startsRemoval = state.withLock { $0.publication.ended(published: event) }
        if startsRemoval { Task { await remove() } }
    }

    private func remove() async {
        while true {
            try? await Task.sleep(for: .milliseconds(settings.deleteBatchMs))
            let batch = state.withLock { $0.publication.nextRemoval() }
            if batch.isEmpty { return }
            do {
                let catalogGeneration = catalogs.snapshot.generation
                try await publishAdded(batch, catalogGeneration: catalogGeneration)
                _ = try await pool.transaction([
                    Self.removal(of: batch.map(\.row.id), catalogGeneration: catalogGeneration)
                ])
            } catch {
                logger.warning("outbox rows not removed", metadata: ["rows": "\(batch.count)", "error": "\(error)"])
            }
        }
    }

    /// Tells shards that became responsible between the choice of the shards and now.
    private func publishAdded(_ batch: [Published], catalogGeneration: Int64) async throws {
        let orders = try await directory.confirmed()
        for event in batch
        where event.generation != orders.generation || event.catalogGeneration != catalogGeneration {
            let added = shards(of: event.row, mutation: event.mutation, by: orders).subtracting(event.row.shards)
            if added.isEmpty { continue }
            _ = try await broker.append(appends(of: event.row, to: added.sorted()))
            republished.increment()
        }
    }

    /// Waits until what was accepted is published and removed, or the time is over.
    package func drain(withinMs: Int64) async {
        let deadline = ContinuousClock.now + .milliseconds(withinMs)
        while ContinuousClock.now < deadline {
            let isIdle = state.withLock { $0.publication.isIdle }
            if isIdle { return }
            try? await Task.sleep(for: .milliseconds(5))
        }
    }
}
