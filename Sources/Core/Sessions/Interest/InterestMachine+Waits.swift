package import LiveModel

/// Waits of sessions for what was committed before them (`WaitTable`).
extension InterestMachine {
    package var waitCount: Int { table.waits.count }

    /// Begins a wait. Its event must be in the shards' streams before it goes on: report that with `waitAppended`.
    /// - Parameter keys: the live queries that the session follows.
    /// - Throws: `.limitExceeded`.
    package mutating func waitBegan(
        hub: Int, keys: Set<LiveQueryKey>, nowMs: Int64
    ) throws(RequestError) -> WaitID {
        try table.waits.began(hub: hub, keys: keys, nowMs: nowMs)
    }

    /// - Parameter problem: why the event may not be in the streams.
    package mutating func waitAppended(_ id: WaitID, problem: RequestError?, nowMs: Int64) -> [Action] {
        if let problem { return performed(table.waits.failed(id, problem)) }
        return performed(table.appended(id, nowMs: nowMs))
    }

    /// The session ended.
    package mutating func waitEnded(_ id: WaitID) { table.waits.ended(id) }

    func performed(_ steps: [WaitTable.Step]) -> [Action] {
        steps.map { step in
            switch step {
            case .appendTicket(let shard, let number): .appendTicket(shard, number: number)
            case .answer(let hub, let id, let error, let beganAtMs):
                .answerWait(hub: hub, id, error, beganAtMs: beganAtMs)
            }
        }
    }
}
