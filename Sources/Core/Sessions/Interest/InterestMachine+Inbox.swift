package import LiveModel

/// What the owners of the shards say.
extension InterestMachine {
    package mutating func inboxArrived(_ message: InboxMessage, nowMs: Int64) -> [Action] {
        guard isCurrent(message) else { return [] }
        switch message {
        case .result(let shard, let key, var result, let answers):
            guard let entry = entry(key, of: shard, answers) else { return [] }
            result.position.placement = entry.place.version
            // Fenced: not newer than what is here. A client's claim does not fence, or a forged one would silence a
            // live query for everybody; each session's own position does.
            if case .result(let held) = entry.held, held.position == result.position || entry.isOlder(result.position) {
                return []
            }
            answered(key, answers)
            entries[key]?.held = .result(result)
            return deliver(entry, .result(result), answers)
        case .unchanged(let shard, let key, let digest, var position, _, let answers):
            guard let entry = entry(key, of: shard, answers) else { return [] }
            position.placement = entry.place.version
            guard let known = entry.held.known, known.digest == digest else {
                // The owner believes that something else is held here. An announcement under way tells it better.
                return !entry.isAwaiting ? announce(key, nowMs: nowMs) : []
            }
            if entry.isOlder(position) { return [] }
            answered(key, answers)
            switch entry.held {
            case .result(var result):
                result.position = position
                entries[key]?.held = .result(result)
                return deliver(entry, .result(result), answers)
            case .claim, .nothing:
                entries[key]?.held = .claim(KnownResult(digest: digest, position: position))
                return deliver(entry, .unchanged(digest: digest, position: position), answers)
            }
        case .ticked(let shard, let key, let digest, var position, let answers):
            guard let entry = entry(key, of: shard, answers), case .result(var held) = entry.held, held.digest == digest
            else { return [] }
            position.placement = entry.place.version
            if entry.isOlder(position) { return [] }
            held.position = position
            entries[key]?.held = .result(held)
            return deliver(entry, .again(held), answers)
        case .failed(let shard, let key, let position, let error, let answers):
            guard let entry = entry(key, of: shard, answers) else { return [] }
            if entry.isOlder(position.at(placement: entry.place.version)) { return [] }
            // A run that is still wanted stays wanted: another owner must not answer from what it finds.
            answered(key, answers, isRun: false)
            // The owner forgot what this gateway holds, too: the next result brings its body. What a client said it
            // holds was not confirmed.
            switch entry.held {
            case .claim: entries[key]?.held = .nothing
            // A newcomer must not get as current what the owner says cannot be read any more.
            case .result where !error.code.isRetryable: entries[key]?.held = .nothing
            case .result, .nothing: break
            }
            return deliver(entry, .failed(error), answers)
        case .announceAll(let shard, _):
            // Also where nothing is held: the summaries tell an owner that remembers a former process of this name.
            if shards[shard] == nil { shards[shard] = (0, 0) }
            return entries.keys(of: shard).flatMap { announce($0, nowMs: nowMs) }
        case .settled(let shard, _, let through, let except, let held):
            if entries.settle(shard, through: through, except: Set(except), held: held) {
                settledThrough[shard] = through
            }
            return []
        }
    }

    /// The live query a message is about, unless that comes from a registration which is over.
    func entry(_ key: LiveQueryKey, of shard: ShardID, _ answers: UInt64) -> Entry? {
        guard let entry = entries[key], entry.place.shard == shard, answers >= entry.firstAsk else { return nil }
        return entry
    }

    /// An owner whose lease another worker took may still send what it read late; it would turn screens back.
    mutating func isCurrent(_ message: InboxMessage) -> Bool {
        let (shard, epoch): (ShardID, UInt64) =
            switch message {
            case .result(let shard, _, let result, _): (shard, result.position.epoch)
            case .unchanged(let shard, _, _, _, let epoch, _): (shard, epoch)
            case .ticked(let shard, _, _, let position, _), .failed(let shard, _, let position, _, _):
                (shard, position.epoch)
            case .announceAll(let shard, let epoch), .settled(let shard, let epoch, _, _, _): (shard, epoch)
            }
        let newest = epochs[shard] ?? 0
        if epoch > newest { epochs[shard] = epoch }
        return epoch >= newest
    }

    /// Entries of the inbox are lost: everything is announced again.
    package mutating func inboxLost(nowMs: Int64) -> [Action] {
        entries.keys().flatMap { announce($0, nowMs: nowMs) }
    }

    mutating func answered(_ key: LiveQueryKey, _ answers: UInt64, isRun: Bool = true) {
        // What was on its way before the run that was asked for is no answer.
        if let freshAsk = entries[key]?.freshAsk, answers < freshAsk { return }
        entries[key]?.repeatAtMs = nil
        entries[key]?.retries = 0
        if isRun { entries[key]?.freshAsk = nil }
    }

    func deliver(_ entry: Entry, _ delivery: Delivery, _ answers: UInt64) -> [Action] {
        entry.hubs.isEmpty
            ? [] : [.deliver(hubs: entry.hubs.keys.sorted(), key: entry.query.key, delivery, answers: answers)]
    }
}
