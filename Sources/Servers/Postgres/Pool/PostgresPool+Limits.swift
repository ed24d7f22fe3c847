extension PostgresPool {
    /// Returns the caller that is charged if a re-run is slow: on a shared connection, its statement.
    static func source(of statement: Statement, _ mode: RefreshMode) -> Caller {
        switch mode {
        case .open, .shared: Caller(UInt64(truncatingIfNeeded: statement.hashValue))
        case .apart(limitMs: .some): .limitedRuns
        case .apart(limitMs: nil): .unlimitedRuns
        }
    }

    func take(_ mode: RefreshMode, _ job: Job) {
        switch mode {
        case .open: break
        case .shared(let limitMs):
            job.runTimeoutMs = min(limitMs, configuration.statementTimeoutMs)
            job.slowAfterMs = nil
        case .apart(let limitMs):
            job.startsApart = job.lane != nil
            if let limitMs { job.runTimeoutMs = min(limitMs, configuration.statementTimeoutMs) }
        }
    }
}
