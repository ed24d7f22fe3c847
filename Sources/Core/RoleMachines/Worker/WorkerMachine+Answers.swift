package import LiveModel
import Refresh
import Sharding
package import Streams

/// Dispatches answers to the calls in flight.
extension WorkerMachine {
    package mutating func brokerAnswered(_ id: CallID, _ reply: BrokerReply, nowMs: Int64) -> [Effect] {
        guard let pending = endCall(id) else { return [] }
        switch (pending, reply) {
        case (.negotiation(var negotiation), _):
            let isRequested = leases.isRequested(negotiation.shard, requestedMs: negotiation.requestedMs)
            let action = negotiation.brokerAnswered(
                reply, timeline: negotiations.timeline, isRequested: isRequested, nowMs: nowMs)
            go(on: negotiation, action, nowMs: nowMs)
        case (.start(var start), _):
            guard isCurrent(start) else { break }
            let action = start.brokerAnswered(reply)
            go(on: start, action, nowMs: nowMs)
        case (.renewal(let shard, let epoch, let sentMs), .done(let isHeld)):
            renewalAnswered(shard, epoch, isHeld: isHeld, sentMs: sentMs, nowMs: nowMs)
        case (.renewal(let shard, let epoch, let sentMs), .failed):
            renewalAnswered(shard, epoch, isHeld: nil, sentMs: sentMs, nowMs: nowMs)
        case (.finalCheckpoint(let shard, let epoch), .done), (.finalCheckpoint(let shard, let epoch), .failed):
            release(shard, epoch)
        case (.release(let shard, let epoch), .done), (.release(let shard, let epoch), .failed):
            released(shard, epoch)
        case (.checkpoint(let shard, let epoch, let id), .done(let isDone)):
            if isDone, refresh.epoch(of: shard) == epoch { upkeep.positionRecorded(id, of: shard) }
            nextUpkeep()
        case (.checkpoint, .failed), (.trim, .done), (.trim, .failed): nextUpkeep()
        case (.replay(let page), .entries(let entries)):
            performRefresh(refresh.pageRead(page, entries, nowMs: nowMs), nowMs: nowMs)
        case (.replay(let page), .failed): performRefresh(refresh.pageRead(page, nil, nowMs: nowMs), nowMs: nowMs)
        case (.wakeWorkers, .done), (.wakeWorkers, .failed): break
        case (.marking(let shards), .done):
            performFollowing(following.marked(shards, isDone: true, nowMs: nowMs), nowMs: nowMs)
        case (.marking(let shards), .failed):
            performFollowing(following.marked(shards, isDone: false, nowMs: nowMs), nowMs: nowMs)
        case (.following(let step, let shard, let epoch), .done):
            performFollowing(
                following.stepEnded(step, of: shard, epoch: epoch, isDone: true, nowMs: nowMs), nowMs: nowMs)
        case (.following(let step, let shard, let epoch), .failed):
            performFollowing(
                following.stepEnded(step, of: shard, epoch: epoch, isDone: false, nowMs: nowMs), nowMs: nowMs)
        case (.renewal, _), (.finalCheckpoint, _), (.release, _), (.checkpoint, _), (.trim, _), (.replay, _),
            (.wakeWorkers, _), (.marking, _), (.following, _), (.run, _), (.append, _):
            preconditionFailure("\(reply) does not answer \(pending)")
        }
        return takeEffects()
    }

    /// - Parameter timeline: the database's timeline as known with this answer; nil if unknown.
    package mutating func databaseAnswered(
        _ id: CallID, _ reply: DatabaseReply, timeline: String?, nowMs: Int64
    ) -> [Effect] {
        if let timeline { negotiations.timelineRead(timeline) }
        guard let pending = endCall(id) else { return [] }
        switch pending {
        case .negotiation(var negotiation):
            let isRequested = leases.isRequested(negotiation.shard, requestedMs: negotiation.requestedMs)
            let action = negotiation.databaseAnswered(
                reply, timeline: timeline ?? "", isRequested: isRequested, nowMs: nowMs)
            go(on: negotiation, action, nowMs: nowMs)
        case .start(var start):
            guard isCurrent(start) else { break }
            let action = start.databaseAnswered(reply)
            go(on: start, action, nowMs: nowMs)
        case .renewal, .finalCheckpoint, .release, .checkpoint, .trim, .replay, .wakeWorkers, .marking, .following,
            .run, .append:
            preconditionFailure("\(reply) does not answer \(pending)")
        }
        return takeEffects()
    }

    /// Performs the next step of the upkeep.
    mutating func nextUpkeep() {
        if let (call, purpose) = upkeep.nextCall(refresh) { request(call, for: purpose) }
    }

    /// - Parameter problem: the reason that the catalogs may be outdated; nil if they are not. The shard is then given
    ///   back and started again later.
    package mutating func catalogsLoaded(_ id: CallID, problem: String?, nowMs: Int64) -> [Effect] {
        guard let pending = endCall(id) else { return [] }
        guard case .start(var start) = pending else { preconditionFailure("catalogs do not answer \(pending)") }
        guard isCurrent(start) else { return takeEffects() }
        let action = start.catalogsLoaded(problem: problem)
        go(on: start, action, nowMs: nowMs)
        return takeEffects()
    }

    /// Ends the batch in flight; with a `problem`, it may not have been appended.
    package mutating func batchAppended(_ id: CallID, problem: String?, nowMs: Int64) -> [Effect] {
        guard let pending = endCall(id) else { return [] }
        guard case .append(let batch) = pending else { preconditionFailure("a batch does not answer \(pending)") }
        endBatch(batch, problem: problem, nowMs: nowMs)
        return takeEffects()
    }
}
