import LiveModel
import Refresh
import Streams

/// Runs, replays and messages to gateways.
extension WorkerMachine {
    mutating func performRefresh(_ actions: [RefreshAction], nowMs: Int64) {
        var mayAppend = false
        for action in actions {
            switch action {
            case .run(let batch): effects.append(.run(newCall(for: .run(batch)), batch))
            case .send(let gateway, let message): if send(message, to: gateway, nowMs: nowMs) { mayAppend = true }
            case .replay(let page):
                request(
                    .newest(
                        stream: keys.events(shard: page.shard.number), before: page.before, limit: page.limit),
                    for: .replay(page))
            }
        }
        if mayAppend { beginBatch() }
    }

    /// - Returns: whether no batch is in flight.
    private mutating func send(_ message: InboxMessage, to gateway: NodeID, nowMs: Int64) -> Bool {
        let outgoingMessage = OutgoingMessage(to: gateway, message)
        switch outgoing.offer(outgoingMessage, bytes: outgoingMessage.bytes) {
        case .begin: return true
        case .queued: return false
        case .full:
            refresh.sendFailed(gateway, [message.key].compactMap { $0 }, nowMs: nowMs)
            return false
        }
    }

    private mutating func beginBatch() {
        let batch = outgoing.nextBatch()
        guard !batch.isEmpty else { return }
        let id = newCall(for: .append(batch.map { ($0.gateway, $0.message.key) }))
        let entries = InboxEntry.entries(
            of: batch, bytesMax: settings.entryBytesMax, messagesMax: settings.entryMessagesMax
        ) { gateway, fields in
            StreamAppend(
                stream: keys.inbox(gateway: gateway.name), fields: fields, lengthMax: settings.inboxLengthMax,
                expireMs: settings.inboxExpireMs)
        }
        effects.append(.append(id, entries))
    }

    mutating func endBatch(_ batch: [(gateway: NodeID, key: LiveQueryKey?)], problem: String?, nowMs: Int64) {
        if let problem {
            log(.warning, "results not sent", ["count": "\(batch.count)", "error": problem])
            let byGateway = Dictionary(grouping: batch, by: \.gateway)
            for (gateway, items) in byGateway.sorted(by: { $0.key < $1.key }) {
                refresh.sendFailed(gateway, items.compactMap(\.key), nowMs: nowMs)
            }
        }
        beginBatch()
    }
}
