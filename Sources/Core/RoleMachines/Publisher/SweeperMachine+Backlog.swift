/// The end of a round: the sweeper measures the outbox, folds its oldest rows if there are too many, and pauses.
extension SweeperMachine {
    /// Measures the outbox, even if nothing could be published: the bound matters most then.
    mutating func measure(problem: String) -> [Effect] {
        state = .measuring(problem: problem)
        return [.measure(newCall(), countMax: settings.rowsMax + settings.foldMax)]
    }

    /// - Parameter answer: the row count, up to `countMax`, and the age of the oldest row; nil if the query failed.
    package mutating func measured(_ call: CallID, _ answer: (rows: Int, oldestMs: Int64)?) -> [Effect] {
        guard end(call) else { return [] }
        guard case .measuring(let problem) = state else { preconditionFailure("measured while \(state)") }
        guard let answer else { return pause() }
        guard answer.rows > settings.rowsMax else { return end(answer.rows, answer.oldestMs, problem) }
        state = .folding(
            Folding(before: answer.rows, rows: answer.rows, oldestMs: answer.oldestMs, problem: problem))
        return [.fold(newCall(), limit: settings.foldMax)]
    }

    /// - Parameter count: the number of rows folded into one; nil if the statement failed.
    package mutating func folded(_ call: CallID, _ count: Int?) -> [Effect] {
        guard end(call) else { return [] }
        guard case .folding(var folding) = state else { preconditionFailure("rows were folded while \(state)") }
        // With fewer than two, a sweeper has locked the others.
        if let count, count >= 2 {
            folding.folded += count
            folding.rows -= count - 1
            if folding.rows > settings.rowsMax / 2 {
                state = .folding(folding)
                return [.fold(newCall(), limit: settings.foldMax)]
            }
        }
        backlog.folded += folding.folded
        let report: [Effect] =
            folding.folded > 0 ? [.report(.folded(rows: folding.folded, of: folding.before))] : []
        return report + (count == nil ? pause() : end(folding.rows, folding.oldestMs, folding.problem))
    }

    private mutating func end(_ rows: Int, _ oldestMs: Int64, _ problem: String) -> [Effect] {
        (backlog.rows, backlog.oldestMs, backlog.problem) = (rows, oldestMs, problem)
        let isAlarming = rows > settings.alarmRows || oldestMs > settings.alarmAgeMs
        return [.report(.backlog(backlog, isAlarming: isAlarming))] + pause()
    }

    private mutating func pause() -> [Effect] {
        state = .idle
        return [.wait(ms: settings.sweepMs)]
    }
}
