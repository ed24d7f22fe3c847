import ChangeCapture
package import LiveModel
package import Sharding

/// The publication of transactions, one batch after the other, and its confirmation.
extension TailerMachine {
    /// Returns the changes that no event tells.
    func uncovered(
        _ transaction: CapturedTransaction, _ knowledge: Knowledge
    ) -> (rows: RowChanges, isCovered: Bool) {
        guard knowledge.heedsMutations, !transaction.rows.all.isEmpty else { return (transaction.rows, false) }
        var rows = transaction.rows
        for encoded in transaction.outboxEvents + transaction.loggedEvents.map(\.event) {
            // An event that tells no rows went to the shards of the tables in which its mutation itself may write.
            guard let told = (try? MutationEvent(encoded: encoded))?.rows else { continue }
            rows = CoveredChanges.uncovered(rows, by: told, knowledge.tables)
        }
        return (rows, rows.all.isEmpty)
    }

    /// Begins the next batch, if there is one and none is being published.
    mutating func advance(nowMs: Int64) -> [Effect] {
        guard case .reading(var reading) = phase, reading.batch == nil, reading.takeBatch(settings, nowMs: nowMs)
        else { return [] }
        phase = .reading(reading)
        return check(nowMs: nowMs)
    }

    private mutating func check(nowMs: Int64) -> [Effect] {
        guard case .reading(var reading) = phase, var batch = reading.batch, let knowledge else { return [] }
        let call = newCall()
        batch.step = .checking(call)
        reading.batch = batch
        phase = .reading(reading)
        return [
            .check(
                call, xids: batch.xids, loadedDeployment: knowledge.loadedDeployment,
                asksOpen: batch.repeated != nil)
        ]
    }

    /// - Parameters:
    ///   - overrides: the node's copy.
    ///   - rules: those of the catalogs that the node has loaded now.
    package mutating func checked(
        _ call: CallID, _ answer: Result<Check, StepFailure>, _ overrides: ClusterOverrides, rules: Rules,
        nowMs: Int64
    ) -> [Effect] {
        guard case .reading(let reading) = phase, var batch = reading.batch, case .checking(call) = batch.step else {
            return []
        }
        let found: Check
        switch answer {
        case .failure(let failure): return fail(reading, failure.reason, nowMs: nowMs)
        case .success(let check): found = check
        }
        let next = newCall()
        batch.step = .pausing(next)
        guard found.areVisible else {
            batch.pauseMs = min(max(2 * batch.pauseMs, settings.visibilityMinMs), settings.visibilityMaxMs)
            keep(batch)
            return [.wait(next, ms: batch.pauseMs)]
        }
        if found.isBehindDeployments {
            guard nowMs - batch.beganMs < settings.loadingMaxMs else {
                return fail(reading, "a deployment cannot be loaded here", nowMs: nowMs)
            }
            // Events go to the shards that are known, as those of the table do; later ones follow.
            if batch.early == nil, !batch.logged.isEmpty {
                let early = shards(of: batch, overrides, rules, nowMs: nowMs).ofLogged
                batch.early = early
                return append(
                    batch, batch.publications(.init(ofLogged: early)), before: .loading, nowMs: nowMs)
            }
            keep(batch)
            return [.loadDeployments(next)]
        }
        batch.open = found.open
        batch.generation = overrides.generation
        batch.shards = shards(of: batch, overrides, rules, nowMs: nowMs)
        let due = batch.early.map { batch.shards.subtracting(.init(ofLogged: $0)) } ?? batch.shards
        return append(batch, batch.publications(due), before: .confirmation, nowMs: nowMs)
    }

    package mutating func checkDue(_ call: CallID, nowMs: Int64) -> [Effect] {
        guard case .reading(let reading) = phase, case .pausing(call)? = reading.batch?.step else { return [] }
        return check(nowMs: nowMs)
    }

    private func shards(
        of batch: Batch, _ overrides: ClusterOverrides, _ rules: Rules, nowMs: Int64
    ) -> Batch.Shards {
        func shards(of event: Batch.Event) -> Set<ShardID> {
            guard let captured = rules.captured else { return [] }
            let queries = event.rows.map { captured.queries(reading: Set($0.all.map(\.table))) } ?? captured.all
            return Set(
                ShardRouting.shards(of: queries, shardCount: routing.shardCount, overrides: overrides, nowMs: nowMs)
            ).subtracting(overrides.unfollowed)
        }
        func shards(of taken: SweeperMachine.TakenRow) -> Set<ShardID> {
            func shards(_ rules: some PublishingRules) -> Set<ShardID> {
                routing.shards(
                    of: taken.row, mutation: taken.mutation, overrides: overrides, rules: rules, nowMs: nowMs)
            }
            return shards(rules.publishing)
        }
        return Batch.Shards(
            ofLogged: batch.logged.map { shards(of: $0) }, ofEvents: batch.events.map { shards(of: $0) })
    }

    private mutating func append(
        _ batch: Batch, _ publications: [Publication], before next: Batch.Next, nowMs: Int64
    ) -> [Effect] {
        append(
            batch, EventRouting.batches(of: publications, bytesMax: settings.batchBytesMax)[...], before: next,
            nowMs: nowMs)
    }

    private mutating func append(
        _ batch: Batch, _ remaining: ArraySlice<[Publication]>, before next: Batch.Next, nowMs: Int64
    ) -> [Effect] {
        var batch = batch
        guard let publications = remaining.first else {
            switch next {
            case .loading:
                let call = newCall()
                batch.step = .pausing(call)
                keep(batch)
                return [.loadDeployments(call)]
            case .confirmation: return confirmOverrides(batch)
            case .end: return finish(batch, nowMs: nowMs)
            }
        }
        hasPublished = true
        let call = newCall()
        batch.step = .appending(call, remaining, before: next)
        keep(batch)
        return [.append(call, publications)]
    }

    /// - Parameter answer: success: every stream has its entries.
    package mutating func appended(_ call: CallID, _ answer: Result<Void, StepFailure>, nowMs: Int64) -> [Effect] {
        guard case .reading(let reading) = phase, var batch = reading.batch,
            case .appending(call, let remaining, let next) = batch.step
        else { return [] }
        switch answer {
        case .failure(let failure):
            // Another node may reach the broker.
            guard nowMs - batch.beganMs < settings.appendingMaxMs else {
                return fail(reading, failure.reason, maxMs: settings.appendRetryMaxMs, nowMs: nowMs)
            }
            // Repeated with the same shards: what was appended already comes twice.
            let again = newCall()
            batch.step = .pausing(again)
            batch.early = nil
            batch.pauseMs = min(max(2 * batch.pauseMs, settings.appendRetryMinMs), settings.appendRetryMaxMs)
            keep(batch)
            return [.wait(again, ms: batch.pauseMs)]
        case .success: return append(batch, remaining.dropFirst(), before: next, nowMs: nowMs)
        }
    }

    private mutating func confirmOverrides(_ batch: Batch) -> [Effect] {
        var batch = batch
        let call = newCall()
        batch.step = .confirming(call)
        keep(batch)
        return [.confirmOverrides(call)]
    }

    /// - Parameter rules: those of the catalogs that the node has loaded now.
    package mutating func overridesConfirmed(
        _ call: CallID, _ answer: Result<ClusterOverrides, StepFailure>, rules: Rules, nowMs: Int64
    ) -> [Effect] {
        guard case .reading(let reading) = phase, let batch = reading.batch, case .confirming(call) = batch.step else {
            return []
        }
        switch answer {
        case .failure(let failure): return fail(reading, failure.reason, nowMs: nowMs)
        case .success(let overrides):
            guard overrides.generation != batch.generation else { return finish(batch, nowMs: nowMs) }
            let added = shards(of: batch, overrides, rules, nowMs: nowMs).subtracting(batch.shards)
            return append(batch, batch.publications(added), before: .end, nowMs: nowMs)
        }
    }

    private mutating func finish(_ batch: Batch, nowMs: Int64) -> [Effect] {
        guard case .reading(var reading) = phase else { return [] }
        retryMs = 0
        reading.batch = nil
        if let repeated = batch.repeated, let open = batch.open, open.oldest < open.newest {
            reading.unsettled.append((repeated, open.newest))
        }
        reading.handled(through: batch.through)
        reading.hasPublished = true
        var effects: [Effect] = []
        if batch.transactions > 0 {
            effects.append(
                .report(
                    .published(
                        transactions: batch.transactions, changes: batch.changes, events: batch.logged.count,
                        committedAtMs: batch.committedAtMs ?? nowMs)))
        }
        if reading.isPaused, reading.isHalfEmpty(settings) {
            reading.isPaused = false
            effects.append(.setReading(reading.id, true))
        }
        phase = .reading(reading)
        return effects + advance(nowMs: nowMs) + recordMark(nowMs: nowMs)
    }

    private mutating func keep(_ batch: Batch) {
        guard case .reading(var reading) = phase else { return }
        reading.batch = batch
        phase = .reading(reading)
    }

    // MARK: Confirming

    /// Records that a mark is reached at once.
    mutating func recordMark(nowMs: Int64) -> [Effect] {
        guard case .reading(let reading) = phase, reading.hasReachedMark else { return [] }
        return record(nowMs: nowMs)
    }

    /// Records the position that may be confirmed, if it is time.
    mutating func record(nowMs: Int64) -> [Effect] {
        guard case .reading(var reading) = phase, let record = reading.recordDue(settings, nowMs: nowMs)
        else { return [] }
        let call = newCall()
        reading.recording = (call, record)
        if record.isConfirmable {
            reading.lastRecordMs = nowMs
            (reading.hasPublished, reading.hasNewTables) = (false, false)
        }
        phase = .reading(reading)
        return [
            .record(call, incarnation: reading.incarnation, record, published: reading.published.sorted())
        ]
    }

    /// - Parameter answer: false if the record has another incarnation.
    package mutating func recorded(_ call: CallID, _ answer: Result<Bool, StepFailure>, nowMs: Int64) -> [Effect] {
        guard case .reading(var reading) = phase, let recording = reading.recording, recording.call == call else {
            return []
        }
        reading.recording = nil
        phase = .reading(reading)
        switch answer {
        case .failure(let failure):
            reading.recordFailures += 1
            if reading.recordFailures >= settings.recordFailuresMax {
                return fail(reading, "the record of the slot cannot be written: \(failure.reason)", nowMs: nowMs)
            }
            if recording.record.isConfirmable { (reading.hasPublished, reading.hasNewTables) = (true, true) }
            phase = .reading(reading)
            return []
        case .success(false): return fail(reading, "another node created the slot again", nowMs: nowMs)
        case .success(true):
            let record = recording.record
            if record.isConfirmable { reading.recorded = record.position }
            reading.recordFailures = 0
            retryMs = 0
            reading.forgetMarks(through: record.position)
            phase = .reading(reading)
            return (record.isConfirmable ? [.confirm(reading.id, record.position)] : []) + recordMark(nowMs: nowMs)
        }
    }
}
