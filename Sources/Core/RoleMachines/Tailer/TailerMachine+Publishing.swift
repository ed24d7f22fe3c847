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
        for encoded in transaction.outboxEvents {
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
        _ call: CallID, _ answer: Result<Check, StepFailure>, _ overrides: ClusterOverrides,
        rules: (any CapturingRules)?, nowMs: Int64
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
        if found.isBehindDeployments {
            guard nowMs - batch.beganMs < settings.loadingMaxMs else {
                return fail(reading, "a deployment cannot be loaded here", nowMs: nowMs)
            }
            keep(batch)
            return [.loadDeployments(next)]
        }
        guard found.areVisible, let rules else {
            batch.pauseMs = min(max(2 * batch.pauseMs, settings.visibilityMinMs), settings.visibilityMaxMs)
            keep(batch)
            return [.wait(next, ms: batch.pauseMs)]
        }
        batch.open = found.open
        batch.generation = overrides.generation
        batch.shards = batch.events.map { shards(of: $0, overrides, rules, nowMs: nowMs) }
        return append(batch, batch.publications(batch.shards), isFirst: true, nowMs: nowMs)
    }

    package mutating func checkDue(_ call: CallID, nowMs: Int64) -> [Effect] {
        guard case .reading(let reading) = phase, case .pausing(call)? = reading.batch?.step else { return [] }
        return check(nowMs: nowMs)
    }

    private func shards(
        of event: Batch.Event, _ overrides: ClusterOverrides, _ rules: any CapturingRules, nowMs: Int64
    ) -> Set<ShardID> {
        let queries = event.rows.map { rules.queries(reading: Set($0.all.map(\.table))) } ?? rules.all
        return Set(
            ShardRouting.shards(of: queries, shardCount: routing.shardCount, overrides: overrides, nowMs: nowMs)
        ).subtracting(overrides.unfollowed)
    }

    private mutating func append(
        _ batch: Batch, _ publications: [Publication], isFirst: Bool, nowMs: Int64
    ) -> [Effect] {
        append(
            batch, EventRouting.batches(of: publications, bytesMax: settings.batchBytesMax)[...], isFirst: isFirst,
            nowMs: nowMs)
    }

    private mutating func append(
        _ batch: Batch, _ remaining: ArraySlice<[Publication]>, isFirst: Bool, nowMs: Int64
    ) -> [Effect] {
        guard let publications = remaining.first else {
            return isFirst ? confirmOverrides(batch) : finish(batch, nowMs: nowMs)
        }
        hasPublished = true
        var batch = batch
        let call = newCall()
        batch.step = .appending(call, remaining, isFirst: isFirst)
        keep(batch)
        return [.append(call, publications)]
    }

    /// - Parameter answer: success: every stream has its entries.
    package mutating func appended(_ call: CallID, _ answer: Result<Void, StepFailure>, nowMs: Int64) -> [Effect] {
        guard case .reading(let reading) = phase, let batch = reading.batch,
            case .appending(call, let remaining, let isFirst) = batch.step
        else { return [] }
        switch answer {
        case .failure(let failure): return fail(reading, failure.reason, nowMs: nowMs)
        case .success: return append(batch, remaining.dropFirst(), isFirst: isFirst, nowMs: nowMs)
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
        _ call: CallID, _ answer: Result<ClusterOverrides, StepFailure>, rules: (any CapturingRules)?, nowMs: Int64
    ) -> [Effect] {
        guard case .reading(let reading) = phase, let batch = reading.batch, case .confirming(call) = batch.step else {
            return []
        }
        switch answer {
        case .failure(let failure): return fail(reading, failure.reason, nowMs: nowMs)
        case .success(let overrides):
            guard let rules, overrides.generation != batch.generation else { return finish(batch, nowMs: nowMs) }
            let added = zip(batch.events, batch.shards).map {
                shards(of: $0, overrides, rules, nowMs: nowMs).subtracting($1)
            }
            return append(batch, batch.publications(added), isFirst: false, nowMs: nowMs)
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
                        transactions: batch.transactions, changes: batch.changes,
                        committedAtMs: batch.events.first?.committedAtMs ?? nowMs)))
        }
        if reading.isPaused, reading.isHalfEmpty(settings) {
            reading.isPaused = false
            effects.append(.setReading(reading.id, true))
        }
        phase = .reading(reading)
        return effects + advance(nowMs: nowMs)
    }

    private mutating func keep(_ batch: Batch) {
        guard case .reading(var reading) = phase else { return }
        reading.batch = batch
        phase = .reading(reading)
    }

    // MARK: Confirming

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
            (reading.hasPublished, reading.hasNewTables) = (true, true)
            phase = .reading(reading)
            return []
        case .success(false): return fail(reading, "another node created the slot again", nowMs: nowMs)
        case .success(true):
            reading.recorded = recording.position
            reading.recordFailures = 0
            retryMs = 0
            phase = .reading(reading)
            return [.confirm(reading.id, recording.position)]
        }
    }
}
