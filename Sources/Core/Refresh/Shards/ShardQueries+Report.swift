import LiveModel

/// The state and counts that operators see.
extension ShardQueries {
    var epoch: UInt64 { positions.epoch }
    var lastEventID: StreamID { positions.lastEventID }
    var historyCount: Int { positions.historyCount }
    var count: Int { queries.table.count }
    var slots: some Collection<Int32> { queries.table.allSlots }
    var pacedCount: Int { queries.table.count(in: .paced) }
    var takeOver: TakeOverCounts { queries.takeOver }
    /// The gateways with interest in this shard.
    var gateways: some Sequence<NodeID> { queries.table.gateways }

    func isPaced(_ slot: Int32) -> Bool { queries.table.contains(slot) && queries.table[slot].phase.isPaced }

    var report: ShardReport {
        let table = queries.table
        return ShardReport(
            shard: shard, epoch: epoch, ownedSinceMs: ownedSinceMs, lastEventID: lastEventID, events: events,
            matches: matches, runs: positions.runs, liveQueries: table.count,
            subscribers: table.states.reduce(0) { $0 + $1.subscribers.count }, lastEventMs: lastEventMs,
            lastRefreshMs: lastRefreshMs, due: table.count(in: .queued), running: table.count(in: .running),
            paced: table.count(in: .paced), waiting: table.count(in: .waiting),
            failing: table.failing.count, takeOver: takeOver)
    }

    /// A summary of the shard, without iterating over its live queries.
    var status: ShardStatus {
        let table = queries.table
        return ShardStatus(
            shard: shard, epoch: epoch, ownedSinceMs: ownedSinceMs, liveQueries: table.count,
            due: table.count(in: .queued), running: table.count(in: .running), paced: table.count(in: .paced),
            waiting: table.count(in: .waiting), lastEventID: lastEventID, lastRefreshMs: lastRefreshMs,
            takeOver: takeOver)
    }

    /// - Parameters:
    ///   - limit: the maximum number, selected arbitrarily, in no order.
    ///   - keyPrefix: the first digits of the keys, in lower case.
    ///   - keys: the wanted ones; nil: all.
    func liveQueryReports(
        limit: Int, operation: OperationReference?, keyPrefix: String?, keys: Set<LiveQueryKey>?
    ) -> [LiveQueryReport] {
        let table = queries.table
        guard let keys else {
            return table.states.lazy.filter { Self.passes($0.query, operation, keyPrefix) }.prefix(limit)
                .map { $0.report(in: shard) }
        }
        let wanted = keys.lazy.compactMap { key in table.slot(of: key).map { slot in table[slot] } }
        return wanted.filter { Self.passes($0.query, operation, keyPrefix) }.prefix(limit).map { $0.report(in: shard) }
    }

    func liveQueryCount(of operation: OperationReference?, keyPrefix: String?) -> Int {
        queries.table.states.count { Self.passes($0.query, operation, keyPrefix) }
    }

    private static func passes(_ query: LiveQuery, _ operation: OperationReference?, _ keyPrefix: String?) -> Bool {
        (operation == nil || query.operation == operation) && keyPrefix.map(query.key.description.hasPrefix) ?? true
    }
}
