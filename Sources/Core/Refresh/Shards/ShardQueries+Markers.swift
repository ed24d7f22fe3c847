import LiveModel

/// Markers on their way through the shard.
extension ShardQueries {
    mutating func markerArrived(_ id: StreamID, _ event: MutationEvent, nowMs: Int64) {
        // One of a later version that says something else.
        guard let dueMs = event.markerDueMs else { return }
        queries.markers.read(
            LagMarker(
                dueMs: dueMs, committedAtMs: event.committedAtMs, entry: id, readAtMs: nowMs, passedAtMs: nowMs))
    }

    /// Removes the markers that may pass.
    /// - Returns: the messages with them, to each gateway that has interest in the shard and takes markers.
    mutating func passMarkers(nowMs: Int64) -> [RefreshAction] {
        let passing = queries.markers.takePassing()
        if passing.isEmpty { return [] }
        let gateways = queries.table.gateways.filter { markerGateways.contains($0) }.sorted()
        var actions: [RefreshAction] = []
        for var marker in passing {
            marker.passedAtMs = nowMs
            let message = InboxMessage.marker(shard: shard, epoch: positions.epoch, marker)
            for gateway in gateways { actions.append(.send(to: gateway, message)) }
        }
        return actions
    }
}
