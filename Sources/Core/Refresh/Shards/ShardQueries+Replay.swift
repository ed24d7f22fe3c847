import LiveModel

/// The replay of older events, which decides whether results that gateways hold are still fresh.
extension ShardQueries {
    mutating func startReplay(_ schedule: inout RunSchedule, nowMs: Int64) -> [RefreshAction] {
        queries.startReplay(&schedule, nowMs: nowMs)
    }

    /// - Returns: nil if the page belongs to a replay that ended, because the shard lost events or was lost and taken
    ///   again.
    mutating func replayRead(
        _ page: ReplayPage, _ entries: [EventEntry]?, _ schedule: inout RunSchedule, nowMs: Int64
    ) -> [RefreshAction]? {
        guard queries.awaits(page) else { return nil }
        return queries.replayRead(page, entries, lastEventID: positions.lastEventID, &schedule, nowMs: nowMs)
    }
}
