import LiveModel
import Refresh
import Streams

/// What a worker does with what it reads from a shard's streams.
extension RefreshMachine {
    /// The lease was granted and the tail of the event stream read: the shard is served from now on, and every gateway
    /// is to announce its interest. Follow the events after `history.lastID` and the control stream after what was its
    /// end *before* this call: what gateways announced before, they announce again.
    mutating func shardOpened(
        _ shard: ShardID, epoch: UInt64, history: EventHistory, trustedEpoch: UInt64,
        gateways: some Sequence<NodeID>, nowMs: Int64
    ) -> [RefreshAction] {
        shardAcquired(
            shard, epoch: epoch, lastEventID: history.lastID, history: history.entries, trustedEpoch: trustedEpoch,
            nowMs: nowMs)
        return askAll(gateways, shard)
    }

    /// A read of the shard's event stream.
    /// - Parameter decoder: of all streams that were read together.
    mutating func eventsRead(
        _ shard: ShardID, signal: StreamSignal?, entries: [StreamEntry], decoder: inout EventDecoder, nowMs: Int64
    ) -> [RefreshAction] {
        var actions: [RefreshAction] = []
        if let signal {
            let lastEventID: StreamID = if case .regressed = signal { .zero } else { lastEventID(of: shard) ?? .zero }
            actions += eventsLost(shard, lastEventID: lastEventID, nowMs: nowMs)
        }
        return actions + eventsArrived(shard, entries.map { EventEntry($0, &decoder) }, nowMs: nowMs)
    }

    /// - Parameter entries: the requested page, newest first; nil when the broker did not answer.
    mutating func pageRead(_ page: ReplayPage, _ entries: [StreamEntry]?, nowMs: Int64) -> [RefreshAction] {
        var decoder = EventDecoder()
        return replayRead(page, entries.map { $0.map { EventEntry($0, &decoder) } }, nowMs: nowMs)
    }

    /// A read of the shard's control stream.
    /// - Parameter unreadable: called with entries that are no control message; they are skipped, and summaries repair
    ///   what they meant.
    mutating func controlRead(
        _ shard: ShardID, signal: StreamSignal?, entries: [StreamEntry], gateways: some Sequence<NodeID>, nowMs: Int64,
        unreadable: (StreamID) -> Void = { _ in }
    ) -> [RefreshAction] {
        var actions: [RefreshAction] = signal == nil ? [] : askAll(gateways, shard)
        for entry in entries {
            guard let message = try? ControlMessage(fields: entry.fields.map { ($0.name, $0.value) }) else {
                unreadable(entry.id)
                continue
            }
            actions += controlArrived(shard, message, nowMs: nowMs)
        }
        return actions
    }

    /// A fresh node list was read.
    /// - Returns: the gateways that are gone, and what asks those that are new or back for their interest.
    mutating func gatewaysRead(_ listed: Set<NodeID>) -> (gone: [NodeID], actions: [RefreshAction]) {
        let (gone, new) = gatewaysListed(listed)
        return (gone, new.isEmpty ? [] : ownedShards.flatMap { askAll(new, $0) })
    }

    /// Another server answers. What the former one acknowledged may be lost: committed rows, events, and results on
    /// their way to gateways. So everything runs again, and the gateways say what they have.
    mutating func serverChanged(gateways: some Sequence<NodeID>, nowMs: Int64) -> [RefreshAction] {
        var actions: [RefreshAction] = []
        for shard in ownedShards {
            actions += eventsLost(shard, lastEventID: lastEventID(of: shard) ?? .zero, nowMs: nowMs)
            actions += askAll(gateways, shard)
        }
        return actions
    }

    private func askAll(_ gateways: some Sequence<NodeID>, _ shard: ShardID) -> [RefreshAction] {
        guard let epoch = epoch(of: shard) else { return [] }
        return gateways.map { .send(to: $0, .announceAll(shard: shard, epoch: epoch)) }
    }
}
