import LiveModel

/// The queue in which a due live query waits for its turn.
extension LiveQueryState {
    var pool: RunPool.Name { otherServers.isEmpty ? speed.pool : .remote }

    var group: DueQueue.Group {
        let kind: DueQueue.Group.Kind = otherServers.isEmpty ? speed.kind : failures > 0 ? .failedRemote : .ordinary
        return DueQueue.Group(operation: query.operation, version: query.version, kind: kind, servers: otherServers)
    }

    /// A live query whose runs fail has had its chance of a first result.
    var priority: RunPriority {
        RunPriority(
            client: client.map { .known($0) } ?? .unknown(query.operation),
            isFirst: position == nil && failures == 0)
    }
}
