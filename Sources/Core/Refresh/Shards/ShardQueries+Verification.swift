import LiveModel

/// Comparing results: with what runs read of rows above others, with what no rule noticed, with the database.
extension ShardQueries {
    /// Takes over which rows the result is bound to. Events that were applied while the run was in flight were compared
    /// with the former ones.
    mutating func bind(
        _ item: RunBatch.Item, _ outcome: RunOutcome, _ schedule: inout RunSchedule, nowMs: Int64
    ) {
        let read: [RowsRead]?
        switch outcome {
        // The result, and with it the rows, are those of before.
        case .unchanged, .cutShort: return
        case .result(_, _, let rows): read = rows
        case .failed: read = nil
        }
        guard queries.bind(item.slot, read, countMax: schedule.settings.rowsReadMax) else { return }
        if positions.mayConcern(queries.table.rules(of: item.slot), after: item.position.id) {
            queries.trigger(item.slot, .none, owedSince: queries.markers.oldestTurn, &schedule, nowMs: nowMs)
        }
    }

    /// Counts a change that no rule noticed, and sometimes looks whether it made the result stale.
    mutating func unnoticed(
        _ slot: Int32, _ event: MutationEvent, _ schedule: inout RunSchedule, _ report: inout EventReport, nowMs: Int64
    ) {
        report.counts.unnoticed(event.operation, by: queries.table[slot].query.operation)
        guard queries.table.canBeSampled(slot), report.verification.takeSample(nowMs: nowMs) else { return }
        queries.check(slot, .sample, &schedule, nowMs: nowMs)
    }

    /// Begins the verification of a live query.
    /// - Returns: false if its result cannot be verified now.
    mutating func verify(_ slot: Int32, _ schedule: inout RunSchedule, nowMs: Int64) -> Bool {
        guard queries.table.contains(slot), queries.table.isVerifiable(slot), suspects[slot] == nil else {
            return false
        }
        queries.check(slot, .verification, &schedule, nowMs: nowMs)
        return true
    }

    /// Removes and returns the verified live queries whose new result no event has explained in time.
    mutating func takeMismatches(nowMs: Int64) -> [VerificationMismatch] {
        var found: [VerificationMismatch] = []
        for (slot, suspect) in suspects.sorted(by: { $0.key < $1.key }) where suspect.untilMs <= nowMs {
            suspects[slot] = nil
            guard queries.table.contains(slot) else { continue }
            let query = queries.table[slot].query
            found.append(
                VerificationMismatch(
                    query: query.key, operation: query.operation, shard: shard, position: suspect.position))
        }
        return found
    }
}
