package import LiveModel

/// What gateways hold from before the events that are remembered is judged by those that the stream still has.
extension RefreshMachine {
    /// Nothing touched what its subscribers hold. Whoever lost it meanwhile makes it run.
    mutating func keep(_ slot: Int32, nowMs: Int64) -> [RefreshAction] {
        guard let state = states[slot], let digest = state.digest, let read = state.position,
            let lastEventID = shards[state.shard]?.lastEventID
        else { return [] }
        let position = Position(epoch: read.epoch, run: read.run, id: lastEventID)
        enter(.idle, slot)
        states[slot]?.position = position
        var actions: [RefreshAction] = []
        for (gateway, subscriber) in state.subscribers.sorted(by: { $0.key < $1.key }) where subscriber.awaitsAnswer {
            guard subscriber.digest == digest else {
                trigger(slot, cause: .none, nowMs: nowMs)
                continue
            }
            states[slot]?.subscribers[gateway]?.awaitsAnswer = false
            shards[state.shard]?.takeOver.kept += 1
            actions.append(
                unchanged(
                    state.query.key, digest, at: position, in: state.shard, to: gateway, answers: subscriber.ask))
        }
        return actions
    }

    mutating func judgeLater(_ slot: Int32, nowMs: Int64) {
        guard let state = states[slot], let position = state.position?.id,
            let floor = shards[state.shard]?.history.floor
        else { return }
        enter(.judged, slot)
        if let count = shards[state.shard]?.replay.waitingCount, count > states.count + Self.leftoversMax {
            keepJudged(in: state.shard)
        }
        shards[state.shard]?.replay.add(slot, position: position, floor: floor)
        if shards[state.shard]?.replay.number == nil, replayStartsMs[state.shard] == nil {
            replayStartsMs[state.shard] = nowMs + settings.replayGatherMs
        }
    }

    mutating func startReplays(nowMs: Int64) -> [RefreshAction] {
        var actions: [RefreshAction] = []
        for shard in replayStartsMs.filter({ $0.value <= nowMs }).keys.sorted() {
            replayStartsMs[shard] = nil
            actions += startReplay(shard, nowMs: nowMs)
        }
        return actions
    }

    private func isJudged(_ slot: Int32) -> Bool {
        if case .judged = states[slot]?.phase { true } else { false }
    }

    /// Those that an event, another gateway or their end took out stand there still.
    private mutating func keepJudged(in shard: ShardID) {
        let living = states
        shards[shard]?.replay.keep { if case .judged = living[$0]?.phase { true } else { false } }
    }

    private mutating func startReplay(_ shard: ShardID, nowMs: Int64) -> [RefreshAction] {
        keepJudged(in: shard)
        guard let count = shards[shard]?.replay.waitingCount, count > 0 else { return [] }
        let eventsMax = min(settings.replayMax, count * settings.replayPerRun)
        guard eventsMax >= settings.replayPageMax else {
            runJudged(shards[shard]?.replay.takeWaiting() ?? [], nowMs: nowMs)
            return []
        }
        let index = indexes[shard]
        shards[shard]?.replay.begin(eventsMax: eventsMax) { index?.rules(of: $0) }
        return nextPage(shard, nowMs: nowMs)
    }

    private mutating func nextPage(_ shard: ShardID, nowMs: Int64) -> [RefreshAction] {
        lastReplay += 1
        if let page = shards[shard]?.replay.page(shard, limit: settings.replayPageMax, number: lastReplay) {
            return [.replay(page)]
        }
        return endReplay(shard, nowMs: nowMs)
    }

    private mutating func endReplay(_ shard: ShardID, nowMs: Int64) -> [RefreshAction] {
        runJudged(shards[shard]?.replay.end() ?? [], nowMs: nowMs)
        return startReplay(shard, nowMs: nowMs)
    }

    private mutating func runJudged(_ slots: [Int32], nowMs: Int64) {
        for slot in slots where isJudged(slot) { trigger(slot, cause: .none, isPaced: true, nowMs: nowMs) }
    }

    /// - Parameter entries: newest first; nil when they could not be read.
    package mutating func replayRead(_ page: ReplayPage, _ entries: [EventEntry]?, nowMs: Int64) -> [RefreshAction] {
        guard shards[page.shard]?.replay.number == page.number else { return [] }
        guard let entries else { return endReplay(page.shard, nowMs: nowMs) + dispatch(nowMs: nowMs) }
        var actions: [RefreshAction] = []
        for entry in entries {
            for slot in shards[page.shard]?.replay.reached(entry.id) ?? [] {
                if isJudged(slot) { actions += keep(slot, nowMs: nowMs) }
            }
            shards[page.shard]?.takeOver.replayed += 1
            guard let event = entry.event else {
                return actions + endReplay(page.shard, nowMs: nowMs) + dispatch(nowMs: nowMs)
            }
            let touched = shards[page.shard]?.replay.index.match(event).live.map(\.slot) ?? []
            for slot in touched { shards[page.shard]?.replay.forget(slot) }
            runJudged(touched, nowMs: nowMs)
        }
        // Where the stream ends, nobody knows what was before.
        let more = entries.count < page.limit ? endReplay(page.shard, nowMs: nowMs) : nextPage(page.shard, nowMs: nowMs)
        return actions + more + dispatch(nowMs: nowMs)
    }
}
