package import LiveModel

/// Operators' overrides for the whole cluster: splits of hot operations, shards moved to a node, nodes drained; and
/// which shards nobody follows, so that they receive no events.
///
/// Stored in the broker as one small hash of `field: (version, value)`, with a generation that changes with every
/// override. A node may act on overrides that are one heartbeat old. That is safe because
/// - a gateway that moves a live query registers it again and accepts only runs that start after that, and
/// - a publisher checks, after the commit, whether the generation is still the one it chose the shards by. If it is,
///   every gateway that learns of a later one registers after the commit, and its run sees the change. The same holds
///   for the runs of an unfollowed shard, which start after its mark is removed.
package struct ClusterOverrides: Sendable, Hashable {
    package struct Split: Sendable, Hashable {
        /// Shards over which the operation's live queries are divided.
        package let splits: Int
        /// Shards that receive its events until `untilMs`: the most that were in use lately, for gateways that have not
        /// yet learned of the change.
        package let formerSplits: Int
        /// Milliseconds since 1970.
        package let untilMs: Int64
        /// The version of the change; ever increasing.
        package let version: UInt64

        package init(splits: Int, formerSplits: Int, untilMs: Int64, version: UInt64) {
            self.splits = splits
            self.formerSplits = formerSplits
            self.untilMs = untilMs
            self.version = version
        }

        /// The number of splits whose shards receive events.
        package func receivingSplits(nowMs: Int64) -> Int { nowMs < untilMs ? max(splits, formerSplits) : splits }
    }

    package struct Move: Sendable, Hashable {
        package let node: NodeID
        /// Milliseconds since 1970; nil: until cleared.
        package let untilMs: Int64?

        package init(node: NodeID, untilMs: Int64?) {
            self.node = node
            self.untilMs = untilMs
        }

        package func isInForce(nowMs: Int64) -> Bool { untilMs.map { nowMs < $0 } ?? true }
    }

    /// Unique to each state; compared for equality only. 0 if there never was an override, or the broker lost its data.
    package var generation: UInt64 = 0
    package var splits: [OperationReference: Split] = [:]
    /// The overrides that move a shard, with those that have ended; `movedShards` are those in force.
    package var moves: [ShardID: Move] = [:]
    /// Nodes that hold no shards and no sessions until the override is cleared.
    package var drained: Set<NodeID> = []
    /// Shards whose owner has marked them: they have no live queries.
    package var unfollowed: Set<ShardID> = []
    /// The values that were clamped or left out when the overrides were decoded.
    package private(set) var defects = StoredDefects()

    package init() {}

    /// Shards that are moved now, with the node that they are moved to.
    package func movedShards(nowMs: Int64) -> [ShardID: NodeID] {
        moves.filter { $0.value.isInForce(nowMs: nowMs) }.mapValues(\.node)
    }

    /// How long the shards of the former splits receive events, too.
    package static let formerSplitsMs: Int64 = 60_000

    /// The change that sets an operation to `count` splits.
    package func settingSplits(of operation: OperationReference, to count: Int, nowMs: Int64) -> OverrideChange {
        let former = splits[operation]?.receivingSplits(nowMs: nowMs) ?? 1
        return OverrideChange(
            field: "splits:\(operation)", value: "\(count) \(former) \(nowMs + Self.formerSplitsMs)")
    }

    package static func move(_ shard: ShardID, to move: Move?) -> OverrideChange {
        OverrideChange(field: "shard:\(shard)", value: move.map { "\($0.untilMs ?? 0) \($0.node)" })
    }

    package static func drain(_ node: NodeID, _ isDrained: Bool) -> OverrideChange {
        OverrideChange(field: "drain:\(node)", value: isDrained ? "yes" : nil)
    }

    /// The change by which a shard's owner says that nobody follows it, or that somebody does.
    package static func mark(_ shard: ShardID, isUnfollowed: Bool) -> OverrideChange {
        OverrideChange(field: "unfollowed:\(shard)", value: isUnfollowed ? "yes" : nil)
    }

    /// Reads what the broker stores. Fields of another form are left out: they come from a newer version.
    package init(generation: UInt64, fields: [String: (version: UInt64, value: String)]) {
        self.generation = generation
        for (field, stored) in fields.sorted(by: { $0.key < $1.key }) {
            let isRead = read(field, stored.value, version: stored.version)
            if !isRead { defects.add("an override in another form: \(field)") }
        }
    }

    private mutating func read(_ field: String, _ value: String, version: UInt64) -> Bool {
        let parts = field.split(separator: ":", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return false }
        switch parts[0] {
        case "splits":
            let values = value.split(separator: " ")
            guard let operation = OperationReference(parts[1]), values.count == 3, let count = Int(values[0]),
                let former = Int(values[1]),
                let untilMs = Int64(values[2]), (1...ShardRouting.splitsMax).contains(count),
                (1...ShardRouting.splitsMax).contains(former)
            else { return false }
            splits[operation] = Split(
                splits: count, formerSplits: former, untilMs: clamped(untilMs, field), version: version)
        case "shard":
            // A node's name may contain spaces.
            let values = value.split(separator: " ", maxSplits: 1).map(String.init)
            guard let number = Int(parts[1]), (0...Int(Int32.max)).contains(number), values.count == 2,
                let untilMs = Int64(values[0]), untilMs >= 0
            else { return false }
            moves[ShardID(number)] = Move(
                node: NodeID(values[1]), untilMs: untilMs > 0 ? clamped(untilMs, field) : nil)
        case "drain": drained.insert(NodeID(parts[1]))
        case "unfollowed":
            guard let number = Int(parts[1]), (0...Int(Int32.max)).contains(number) else { return false }
            unfollowed.insert(ShardID(number))
        default: return false
        }
        return true
    }

    private mutating func clamped(_ untilMs: Int64, _ field: String) -> Int64 {
        let inRange = StoredNumber.timeMs(untilMs)
        if inRange != untilMs { defects.add("the end of \(field): \(untilMs)") }
        return inRange
    }
}

/// One field of the stored overrides; without a value, the override is cleared.
package struct OverrideChange: Sendable, Hashable {
    package let field: String
    package let value: String?
}
