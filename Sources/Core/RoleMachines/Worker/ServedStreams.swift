import LiveModel
import Streams

/// The streams of the served shards, by name.
struct ServedStreams: Sendable {
    enum Kind: Sendable { case events, control }

    private let keys: Keys
    private var streams: [String: (shard: ShardID, kind: Kind)] = [:]

    init(keys: Keys) { self.keys = keys }

    subscript(name: String) -> (shard: ShardID, kind: Kind)? { streams[name] }

    /// Adds a shard's streams.
    /// - Returns: their names.
    mutating func add(_ shard: ShardID) -> (events: String, control: String) {
        let (events, control) = (keys.events(shard: shard.number), keys.control(shard: shard.number))
        streams[events] = (shard, .events)
        streams[control] = (shard, .control)
        return (events, control)
    }

    /// Removes a shard's streams.
    /// - Returns: the names of those that were followed.
    mutating func remove(_ shard: ShardID) -> [String] {
        [keys.events(shard: shard.number), keys.control(shard: shard.number)]
            .filter { streams.removeValue(forKey: $0) != nil }
    }
}
