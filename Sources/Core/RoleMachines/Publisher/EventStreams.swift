package import LiveModel
package import Streams

/// What publications and resync markers are in the shards' streams of events.
package struct EventStreams: Sendable {
    private let keys: Keys
    /// The stream of each shard.
    private let names: [String]
    /// Entries that a stream keeps at least.
    private let lengthMax: Int

    package init(keys: Keys, shardCount: Int, lengthMax: Int) {
        self.keys = keys
        self.lengthMax = lengthMax
        names = (0..<shardCount).map { keys.events(shard: $0) }
    }

    /// One entry per shard of each.
    package func appends(of publications: [Publication]) -> [StreamAppend] {
        publications.flatMap { publication in
            publication.shards.map { .event(publication.row.event, to: name(of: $0), lengthMax: lengthMax) }
        }
    }

    package func resyncMarkers(for shards: [ShardID]) -> [StreamAppend] {
        shards.map { .resyncMarker(to: name(of: $0), lengthMax: lengthMax) }
    }

    /// A row may name shards that a former cluster had.
    private func name(of shard: ShardID) -> String {
        names.indices.contains(shard.number) ? names[shard.number] : keys.events(shard: shard.number)
    }
}
