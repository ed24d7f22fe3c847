package import Broker
import Catalog
import Clocks
package import Cluster
package import Execution
package import LiveModel
package import Logging
import Metrics
package import Postgres
package import RoleMachines
package import Recording
import Streams
import Synchronization

/// Performs the effects of `PublisherMachine` on the broker and Postgres.
///
/// Locking: the machine changes under a mutex; its effects are performed after the lock is released.
package final class EventPublisher: Sendable {
    private let broker: any Broker
    private let pool: PostgresPool
    private let catalogs: ServedCatalogs
    private let overrideList: OverrideList
    private let logger: Logger
    private let recorder: NodeRecorder?
    private let streams: EventStreams
    private let machine: Mutex<PublisherMachine>
    private let metrics = PublisherMetrics()

    /// Deletes published rows unless a deployment exists that this node had not loaded; a sweeper that has loaded it
    /// republishes them.
    private static let removal = Statement(
        """
        DELETE FROM freshet.outbox WHERE id = ANY($1::uuid[])
        AND NOT EXISTS (SELECT FROM freshet.deployments WHERE id > $2::bigint)
        RETURNING id
        """)

    /// Makes the step that deletes published rows.
    /// - Parameter loadedDeployment: the one that was loaded before the rows were last published.
    static func removal(of ids: [String], loadedDeployment: Int64) -> PostgresStep {
        (removal, [.text(PostgresArray.literal(ids)), .text(String(loadedDeployment))])
    }

    /// - Parameter eventsLengthMax: the entries that an events stream keeps at least.
    package init(
        broker: any Broker, pool: PostgresPool, catalogs: ServedCatalogs, overrideList: OverrideList,
        settings: PublisherMachine.Settings, eventsLengthMax: Int = 100_000, recorder: NodeRecorder? = nil,
        logger: Logger
    ) {
        self.recorder = recorder
        self.broker = broker
        self.pool = pool
        self.catalogs = catalogs
        self.overrideList = overrideList
        self.logger = logger
        streams = EventStreams(keys: broker.keys, shardCount: overrideList.shardCount, lengthMax: eventsLengthMax)
        machine = Mutex(PublisherMachine(settings: settings, shardCount: overrideList.shardCount))
    }

    /// Publishes an event in the background; acknowledging the mutation does not wait for it.
    package func publish(_ event: PublisherMachine.Committed) { change { $0.committed(event) } }

    /// Whether any event was sent to the broker.
    var hasPublished: Bool { machine.withLock { $0.hasPublished } }

    /// Waits until all accepted events are published and their rows removed, or the time has passed.
    package func drain(withinMs: Int64) async {
        let deadline = Deadline(afterMs: withinMs)
        while !deadline.isReached, !machine.withLock({ $0.isIdle }) {
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    private func change(_ body: (inout PublisherMachine) -> [PublisherMachine.Effect]) {
        for effect in machine.withLock({ body(&$0) }) { perform(effect) }
    }

    private func perform(_ effect: PublisherMachine.Effect) {
        switch effect {
        case .append(let call, let publications):
            broker.append(streams.appends(of: publications)) { [self] answer in
                if let recorder, recorder.awaitsPublication, case .success = answer {
                    for publication in publications { recorder.published(publication.row.id, to: publication.shards) }
                }
                change { $0.appended(call, answer.map { _ in }.mapError { StepFailure("\($0)") }) }
            }
        case .wait(let ms):
            Task {
                try? await Task.sleep(for: .milliseconds(ms))
                change { $0.removalDue() }
            }
        case .confirmOverrides(let call):
            Task {
                let answer = await attempt { try await overrideList.confirmed() }
                let (rules, nowMs) = (catalogs.snapshot, overrideList.nowMs())
                change { $0.overridesConfirmed(call, answer, rules: rules, nowMs: nowMs) }
            }
        case .remove(let call, let ids, let loadedDeployment):
            Task {
                let removal = Self.removal(of: ids, loadedDeployment: loadedDeployment)
                let answer = await attempt { _ = try await pool.transaction([removal]) }
                change { $0.removed(call, answer) }
            }
        case .report(.published): metrics.published.increment()
        case .report(.deferred(let id, let reason)):
            metrics.deferred.increment()
            // At debug level: one line for each event would be a flood while the broker is unreachable. The sweeper
            // reports the backlog.
            logger.debug("event left to the sweeper", metadata: ["event": "\(id)", "error": "\(reason)"])
        case .report(.republished(let count)): metrics.republished.increment(by: Int64(count))
        case .report(.rowsLeft(let count, let reason)):
            logger.warning("outbox rows not removed", metadata: ["rows": "\(count)", "error": "\(reason)"])
        }
    }

    private func attempt<Value>(_ body: () async throws -> Value) async -> Result<Value, StepFailure> {
        do {
            return .success(try await body())
        } catch {
            return .failure(StepFailure("\(error)"))
        }
    }
}

extension ServedCatalogs.Snapshot: PublishingRules {
    /// No catalog knows what an administrator's ad-hoc mutation affects: any query may read the rows that it wrote.
    package func queriesRefreshed(by mutation: OperationReference) -> [OperationReference]? {
        mutation.connector == Catalog.adHocConnector ? nil : set.queriesRefreshed(by: mutation)
    }

    package func authReads(of mutation: OperationReference) -> AuthReads { set.authReadsOfConditions(on: mutation) }

    package var recordedFields: [String: RecordedFields]? { self.set.recordedFields }
}
