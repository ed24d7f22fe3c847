import LiveModel
import Refresh
import RoleMachines
import Sharding
import Streams

/// Deliberate mistakes (`Sabotage`) as changes of the product machine's settings, facts and effects.
extension SimulatedWorker {
    static func makeMistakes(in settings: inout WorkerMachine.Settings, _ sabotage: Sabotage?) {
        switch sabotage {
        case .formerOwnersForgotten: settings.lease.holdOffMs = 0
        case .serveAfterExpiry: settings.lease.marginMs = -60_000
        default: break
        }
    }

    /// - Returns: nil if the batches are handed over later.
    func mistaken(_ batches: [StreamBatch]) -> [StreamBatch]? {
        switch world.sabotage {
        case .historyTrustedAfterLoss:
            return batches.map { StreamBatch(stream: $0.stream, entries: $0.entries) }
        case .ticketAhead:
            for batch in batches where batch.stream.hasSuffix(":events") { returnTickets(of: batch) }
            return batches
        case .noDirtyMark where !running.isEmpty:
            return batches.map { batch in
                let isEvents = batch.stream.hasSuffix(":events")
                return StreamBatch(
                    stream: batch.stream, signal: batch.signal, entries: isEvents ? [] : batch.entries)
            }
        case .queryBeforeRegister:
            let announced = batches.flatMap(\.entries).compactMap { entry -> LiveQuery? in
                let message = try? ControlMessage(fields: entry.fields.map { ($0.name, $0.value) })
                if case .announce(_, let query, _, _) = message { return query } else { return nil }
            }
            if announced.isEmpty { return batches }
            for query in announced { readEarly[query.key] = world.postgres.result(of: query) }
            later(timeline.pick(5...60)) { [self] in streamsRead(batches) }
            return nil
        default: return batches
        }
    }

    func mistaken(_ call: WorkerMachine.BrokerCall) -> WorkerMachine.BrokerCall {
        switch (world.sabotage, call) {
        case (.basisIgnored, .requestLease(let key, let owner, let ttlMs, _, let epoch)):
            .requestLease(key: key, owner: owner, ttlMs: ttlMs, basis: "", epoch: epoch)
        case (.marksKept, .changeOverrides(let changes)):
            .changeOverrides(changes.filter { $0.value != nil })
        default: call
        }
    }

    func mistaken(_ unfollowed: UnfollowedShards) -> UnfollowedShards {
        switch world.sabotage {
        case .marksKept, .marksUnseen: UnfollowedShards(areKnownToAll: unfollowed.areKnownToAll)
        default: unfollowed
        }
    }

    /// Returns the cursor from which to follow a stream.
    func mistaken(_ cursor: StreamID, of stream: String) -> StreamID {
        guard world.sabotage == .followedFromEnd, stream.hasSuffix(":events") else { return cursor }
        return world.redis.info(stream)?.lastID ?? cursor
    }

    /// Returns a made-up reply to a statement that is not executed.
    func madeUpReply(to call: WorkerMachine.DatabaseCall) -> WorkerMachine.DatabaseReply? {
        guard world.sabotage == .epochsNotRecorded, case .recordEpoch = call else { return nil }
        return .recorded(true)
    }

    func mistaken(_ reply: WorkerMachine.BrokerReply) -> WorkerMachine.BrokerReply {
        switch (world.sabotage, reply) {
        case (.historyTrustedAfterLoss, .lease(.granted(var grant))):
            grant.trustedEpoch = 0
            return .lease(.granted(grant))
        case (.marksUnseen, .unfollowed): return .unfollowed([])
        case (.replayHole, .entries(var page)) where page.count > 1:
            page[1] = StreamEntry(id: page[1].id, fields: page[0].fields)
            return .entries(page)
        default: return reply
        }
    }

    func mistaken(
        _ reply: WorkerMachine.DatabaseReply, to call: WorkerMachine.DatabaseCall
    ) -> WorkerMachine.DatabaseReply {
        switch (world.sabotage, reply, call) {
        case (.epochsByTheClock, .recorded, _): .recorded(true)
        case (.epochsByTheClock, .epochs(let recorded, let clockMs), .readEpochs(let shard)),
            (.epochsNotRecorded, .epochs(let recorded, let clockMs), .readEpochs(let shard)),
            (.startUnchecked, .epochs(let recorded, let clockMs), .readEpochs(let shard)):
            .epochs(recorded: machine.leases.epoch(of: shard) ?? recorded, clockMs: max(recorded, clockMs))
        default: reply
        }
    }

    func mistaken(_ outcomes: [RunOutcome]) -> [RunOutcome] {
        switch world.sabotage {
        case .swappedOutcomes: outcomes.reversed()
        case .boundRowsForgotten:
            outcomes.map { outcome in
                guard case .result(let digest, let answer, .some) = outcome else { return outcome }
                return .result(
                    digest: digest, answer, rows: [Workload.rowsRead(parentVersion: 0)])
            }
        default: outcomes
        }
    }

    func mistaken(_ entries: [InboxEntry]) -> [InboxEntry] {
        if world.sabotage == .markerAhead { return entries.map(markersAhead) }
        guard world.sabotage == .settledAhead else { return entries }
        return entries.map { entry in
            let messages = entry.messages.map { message in
                guard case .settled(let shard, let epoch, let through, let except, let held) = message else {
                    return message
                }
                let later = StreamID(ms: through.ms + 10_000, sequence: 0)
                return .settled(shard: shard, epoch: epoch, through: later, except: except, held: held)
            }
            return InboxEntry(to: entry.gateway, messages, append: entry.append)
        }
    }

    private func returnTickets(of batch: StreamBatch) {
        let keys = world.redis.keys
        guard
            let shard = ShardID.all(count: Workload.shardCount).first(where: {
                keys.events(shard: $0.number) == batch.stream
            }), let epoch = machine.leases.epoch(of: shard)
        else { return }
        for entry in batch.entries {
            guard let ticket = entry.event.flatMap({ try? MutationEvent(encoded: $0) })?.ticket else { continue }
            world.redis.append(
                keys.inbox(gateway: ticket.gateway.name),
                InboxMessage.ticket(shard: shard, epoch: epoch, number: ticket.number).fields,
                lengthMax: World.inboxLengthMax)
        }
    }

    private func markersAhead(_ entry: InboxEntry) -> InboxEntry {
        let messages = entry.messages.map { message in
            guard case .marker(let shard, let epoch, var marker) = message else { return message }
            marker.entry = world.markerChecks.newest[world.redis.keys.events(shard: shard.number)] ?? marker.entry
            return .marker(shard: shard, epoch: epoch, marker)
        }
        return InboxEntry(to: entry.gateway, messages, append: entry.append)
    }
}
