import Cluster
import Logging
import Metrics
package import RoleMachines
import Synchronization

/// The log lines and metrics of the reader.
extension ChangeTailer {
    func note(_ report: TailerMachine.Report) {
        switch report {
        case .state(let state):
            metrics.isReading.record(state.isReading ? 1 : 0)
            metrics.isFailing.record(state.isFailing ? 1 : 0)
            note(state)
        case .inspected(let slot):
            latestInspection.withLock { $0 = slot }
            metrics.saw(slot)
            if slot?.health == .unreserved {
                logger.warning(
                    "the database is about to remove log that was not read yet; a lost slot runs all queries again",
                    metadata: ["slot": "\(self.slot.name)"])
            }
        case .doubt(let reason):
            metrics.doubts.increment()
            logger.notice(
                "every query that refreshes by the log runs again, because changes may have been missed",
                metadata: ["reason": "\(reason)", "slot": "\(slot.name)"])
        case .published(let transactions, let changes, let events, let committedAtMs):
            metrics.events.increment(by: Int64(events))
            metrics.transactions.increment(by: Int64(transactions))
            metrics.changes.increment(by: Int64(changes))
            metrics.delay.recordMilliseconds(max(0, overrideList.nowMs() - committedAtMs))
        case .covered: metrics.covered.increment()
        case .strays(let slots):
            guard !slots.isEmpty else { return }
            logger.warning(
                "nobody reads these replication slots, for which the database keeps log: drop them if unused",
                metadata: ["slots": "\(slots.joined(separator: ", "))"])
        case .readerEnded(let pid, let silentMs):
            logger.warning(
                "ended a reader of the replication slot that no longer answered",
                metadata: ["pid": "\(pid)", "silentMs": "\(silentMs)", "slot": "\(slot.name)"])
        }
    }

    private func note(_ state: TailerMachine.State) {
        switch state {
        case .idle:
            // The slot is not looked at any more.
            latestInspection.withLock { $0 = nil }
            metrics.sawNothing()
            logger.info("no query refreshes by the database's log, and no events are in it")
        case .standby(let pid):
            logger.info(
                "another node reads the database's log", metadata: ["pid": "\(pid)", "slot": "\(slot.name)"])
        case .reading(let unpublished):
            logger.info("reading the database's log", metadata: ["slot": "\(slot.name)"])
            guard !unpublished.isEmpty else { return }
            logger.error(
                "changes of some tables are not noticed: the publication lacks them; run freshet migrate",
                metadata: ["tables": "\(unpublished.joined(separator: ", "))"])
        case .failing(let reason):
            metrics.failures.increment()
            logger.error(
                "the database's log cannot be read; queries that depend on it are stale until it can",
                metadata: ["reason": "\(reason)", "slot": "\(slot.name)"])
        }
    }
}

extension TailerMachine.State {
    package var isReading: Bool { if case .reading = self { true } else { false } }
    package var isFailing: Bool { if case .failing = self { true } else { false } }
}
