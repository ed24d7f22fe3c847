import LiveModel
import Refresh
import Streams

/// The handling of reads of a shard's streams and of the node list.
extension RefreshMachine {
    /// Begins to serve a shard, after the lease was granted and the tail of the events stream read, and has every
    /// gateway announce its interest. Afterwards follow the events after `history.lastID`, and the control stream after
    /// its end as of *before* this call: gateways repeat what they announced earlier.
    mutating func shardOpened(
        _ shard: ShardID, epoch: UInt64, history: EventHistory, trustedEpoch: UInt64,
        gateways: some Sequence<NodeID>, nowMs: Int64
    ) -> [RefreshAction] {
        shardAcquired(
            shard, epoch: epoch, lastEventID: history.lastID, history: history.entries, trustedEpoch: trustedEpoch,
            nowMs: nowMs)
        return requestAnnouncements(of: gateways, to: shard)
    }

    /// Handles a read of the shard's events stream.
    /// - Parameter decoder: shared by all streams of one read.
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

    /// - Parameter entries: the requested page, newest first; nil if the broker did not answer.
    mutating func pageRead(_ page: ReplayPage, _ entries: [StreamEntry]?, nowMs: Int64) -> [RefreshAction] {
        var decoder = EventDecoder()
        return replayRead(page, entries.map { $0.map { EventEntry($0, &decoder) } }, nowMs: nowMs)
    }

    /// Handles a read of the shard's control stream.
    /// - Parameters:
    ///   - isHeld: called for each message; true: it is not handled now.
    ///   - unreadable: called for each entry that is not a control message. The entry is skipped; summaries repair its
    ///     effect.
    mutating func controlRead(
        _ shard: ShardID, signal: StreamSignal?, entries: [StreamEntry], gateways: some Sequence<NodeID>, nowMs: Int64,
        isHeld: (ControlMessage) -> Bool = { _ in false }, unreadable: (StreamID) -> Void = { _ in }
    ) -> [RefreshAction] {
        var actions: [RefreshAction] = signal == nil ? [] : requestAnnouncements(of: gateways, to: shard)
        for entry in entries {
            guard let message = try? ControlMessage(fields: entry.fields.map { ($0.name, $0.value) }) else {
                unreadable(entry.id)
                continue
            }
            if !isHeld(message) { actions += controlArrived(shard, message, nowMs: nowMs) }
        }
        return actions
    }

    /// Handles a fresh node list.
    /// - Returns: the gateways that are gone, and requests for interest to those that are new or back.
    mutating func gatewaysRead(_ listed: Set<NodeID>) -> (gone: [NodeID], actions: [RefreshAction]) {
        let (gone, new) = gatewaysListed(listed)
        return (gone, new.isEmpty ? [] : ownedShards.flatMap { requestAnnouncements(of: new, to: $0) })
    }

    /// Re-runs everything and has all gateways announce their interest, because another server answers: committed rows,
    /// events and results in transit that the former one acknowledged may be lost.
    mutating func serverChanged(gateways: some Sequence<NodeID>, nowMs: Int64) -> [RefreshAction] {
        var actions: [RefreshAction] = []
        for shard in ownedShards {
            actions += eventsLost(shard, lastEventID: lastEventID(of: shard) ?? .zero, nowMs: nowMs)
            actions += requestAnnouncements(of: gateways, to: shard)
        }
        return actions
    }

    func requestAnnouncements(of gateways: some Sequence<NodeID>, to shard: ShardID) -> [RefreshAction] {
        guard let epoch = epoch(of: shard) else { return [] }
        return gateways.map { .send(to: $0, .announceAll(shard: shard, epoch: epoch)) }
    }
}
