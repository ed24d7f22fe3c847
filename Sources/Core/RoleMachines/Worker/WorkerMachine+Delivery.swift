import LiveModel
import Pacing
import Refresh
import Streams

/// Runs, replays and messages to gateways.
extension WorkerMachine {
    mutating func performRefresh(_ actions: [RefreshAction], nowMs: Int64) {
        var mayAppend = false
        for action in actions {
            switch action {
            case .run(let batch): emit(.run(newCall(for: .run(batch)), batch))
            case .send(let gateway, let message): if send(message, to: gateway, nowMs: nowMs) { mayAppend = true }
            case .replay(let page):
                request(
                    .newest(
                        stream: keys.events(shard: page.shard.number), before: page.before, limit: page.limit),
                    for: .replay(page))
            case .report(let mismatch): report(mismatch, nowMs: nowMs)
            }
        }
        // Now, when refused results are known.
        for case .send(let gateway, let marker) in refresh.markersDue(nowMs: nowMs) {
            if send(marker, to: gateway, nowMs: nowMs) { mayAppend = true }
        }
        if mayAppend { beginBatch() }
    }

    /// The beginning of the message about a missed change.
    package static let missedChange = "a live query missed a change"

    /// Logs the first of each interval only.
    private mutating func report(_ mismatch: VerificationMismatch, nowMs: Int64) {
        guard let leftOut = missedChanges.failed("", count: 1, nowMs: nowMs) else { return }
        log(
            .warning,
            "\(Self.missedChange): its verification read another result and no event explains it;"
                + " if only mutations of this cluster write the tables, please report this",
            [
                "operation": "\(mismatch.operation)", "query": "\(mismatch.query)", "shard": "\(mismatch.shard)",
                "position": "\(mismatch.position)", "notLogged": "\(leftOut)",
            ])
    }

    /// - Returns: whether no batch is in flight.
    private mutating func send(_ message: InboxMessage, to gateway: NodeID, nowMs: Int64) -> Bool {
        switch outgoing.offer(message, to: gateway) {
        case .begin: return true
        case .queued: return false
        case .full:
            outgoing.failed()
            refresh.sendFailed(gateway, [message.key].compactMap { $0 }, nowMs: nowMs)
            return false
        }
    }

    private mutating func beginBatch() {
        guard let (entries, messages) = outgoing.nextBatch() else { return }
        emit(.append(newCall(for: .append(messages)), entries))
    }

    mutating func endBatch(_ batch: [(gateway: NodeID, key: LiveQueryKey?)], problem: String?, nowMs: Int64) {
        if let problem {
            log(.warning, "results not sent", ["count": "\(batch.count)", "error": problem])
            outgoing.failed()
            let byGateway = Dictionary(grouping: batch, by: \.gateway)
            for (gateway, items) in byGateway.sorted(by: { $0.key < $1.key }) {
                refresh.sendFailed(gateway, items.compactMap(\.key), nowMs: nowMs)
            }
        }
        beginBatch()
    }
}
