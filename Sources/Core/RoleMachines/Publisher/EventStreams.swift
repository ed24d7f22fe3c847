package import LiveModel
package import Streams

/// Encodes publications and resync markers as appends to the shards' events streams.
package struct EventStreams: Sendable {
    private let keys: Keys
    /// The stream of each shard.
    private let names: [String]
    /// The number of entries that a stream keeps at least.
    private let lengthMax: Int

    package init(keys: Keys, shardCount: Int, lengthMax: Int) {
        self.keys = keys
        self.lengthMax = lengthMax
        names = (0..<shardCount).map { keys.events(shard: $0) }
    }

    /// Returns one append per shard of each publication.
    package func appends(of publications: [Publication]) -> [StreamAppend] {
        publications.flatMap { publication in
            publication.shards.map { .event(publication.row.event, to: name(of: $0), lengthMax: lengthMax) }
        }
    }

    package func append(of ticket: WaitTicket, to shard: ShardID, nowMs: Int64) -> StreamAppend {
        .event(MutationEvent(ticket, appendedAtMs: nowMs).encoded, to: name(of: shard), lengthMax: lengthMax)
    }

    package func resyncMarkers(for shards: [ShardID]) -> [StreamAppend] {
        shards.map { .resyncMarker(to: name(of: $0), lengthMax: lengthMax) }
    }

    /// Returns a shard's stream. A row may name shards of a former cluster that had more of them.
    private func name(of shard: ShardID) -> String {
        names.indices.contains(shard.number) ? names[shard.number] : keys.events(shard: shard.number)
    }
}
