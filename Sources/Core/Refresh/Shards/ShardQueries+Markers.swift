import LiveModel

/// Markers and tickets on their way through the shard.
extension ShardQueries {
    mutating func markerArrived(_ id: StreamID, _ event: MutationEvent, nowMs: Int64) {
        if let ticket = event.ticket { return queries.markers.read(ticket) }
        // One of a later version that says something else.
        guard let dueMs = event.markerDueMs else { return }
        queries.markers.read(
            LagMarker(
                dueMs: dueMs, committedAtMs: event.committedAtMs, entry: id, readAtMs: nowMs, passedAtMs: nowMs))
    }

    /// Removes the markers and tickets that may pass.
    /// - Parameter listed: the gateways of the last node list. Others get none: this shard may have forgotten their
    ///   interest, which it requests when they are listed again.
    /// - Returns: the messages with the markers, to each gateway that has interest in the shard and takes markers, and
    ///   with the tickets, to the gateway of each that has interest.
    mutating func passMarkers(listed: Set<NodeID>, nowMs: Int64) -> [RefreshAction] {
        let passing = queries.markers.takePassing()
        if passing.isEmpty { return [] }
        let interested = queries.table.gateways.filter(listed.contains)
        let gateways = interested.filter { markerGateways.contains($0) }.sorted()
        var actions: [RefreshAction] = []
        for entry in passing {
            if var marker = entry.marker {
                marker.passedAtMs = nowMs
                let message = InboxMessage.marker(shard: shard, epoch: positions.epoch, marker)
                for gateway in gateways { actions.append(.send(to: gateway, message)) }
            }
            for (gateway, number) in entry.tickets.sorted(by: { $0.key < $1.key })
            where interested.contains(gateway) {
                actions.append(
                    .send(to: gateway, .ticket(shard: shard, epoch: positions.epoch, number: number)))
            }
        }
        return actions
    }
}
