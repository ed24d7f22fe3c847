package import LiveModel

/// What operators ordered of the whole cluster: splits of hot operations, shards moved to a node, nodes drained.
///
/// Stored in the broker as one small hash of `field: (version, value)`, with one generation that every change moves on.
/// A node may act on orders that are a heartbeat old. That is safe, because
/// - who moves a live query registers it anew and takes only what was run after that, and
/// - who publishes an event asks, after the commit, whether the generation is still the one by which it found the
///   shards; if it is, every gateway that learns of a later one registers after the commit and its run sees it.
package struct ClusterOverrides: Sendable, Hashable {
    package struct Split: Sendable, Hashable {
        /// Shards that the operation's live queries are divided over.
        package let splits: Int
        /// Shards that hear of its events until `untilMs`: the most that were in use lately, for gateways that have
        /// not heard of the change.
        package let formerSplits: Int
        /// Milliseconds since 1970.
        package let untilMs: Int64
        /// Of the change; ever increasing.
        package let version: UInt64

        package init(splits: Int, formerSplits: Int, untilMs: Int64, version: UInt64) {
            self.splits = splits
            self.formerSplits = formerSplits
            self.untilMs = untilMs
            self.version = version
        }

        package func heard(nowMs: Int64) -> Int { nowMs < untilMs ? max(splits, formerSplits) : splits }
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

    /// Unique to each state; compared for equality only. 0: nothing was ever ordered, or the broker lost its data.
    package var generation: UInt64 = 0
    package var splits: [OperationReference: Split] = [:]
    package var moves: [ShardID: Move] = [:]
    /// Nodes that hold no shards and no sessions until the order is taken back.
    package var drained: Set<NodeID> = []

    package init() {}

    /// Shards moved now, and to whom.
    package func pins(nowMs: Int64) -> [ShardID: NodeID] {
        moves.filter { $0.value.isInForce(nowMs: nowMs) }.mapValues(\.node)
    }

    /// How long the shards of the former splits hear of events, too.
    package static let formerSplitsMs: Int64 = 60_000

    /// The order that makes it `count` splits.
    package func settingSplits(of operation: OperationReference, to count: Int, nowMs: Int64) -> OverrideChange {
        let former = splits[operation]?.heard(nowMs: nowMs) ?? 1
        return OverrideChange(
            field: "splits:\(operation)", value: "\(count) \(former) \(nowMs + Self.formerSplitsMs)")
    }

    package static func move(_ shard: ShardID, to move: Move?) -> OverrideChange {
        OverrideChange(field: "shard:\(shard)", value: move.map { "\($0.untilMs ?? 0) \($0.node)" })
    }

    package static func drain(_ node: NodeID, _ isDrained: Bool) -> OverrideChange {
        OverrideChange(field: "drain:\(node)", value: isDrained ? "yes" : nil)
    }

    /// From what the broker stores. Fields of another form are left out: they come from a newer version.
    package init(generation: UInt64, fields: [String: (version: UInt64, value: String)]) {
        self.generation = generation
        for (field, stored) in fields {
            let parts = field.split(separator: ":", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { continue }
            let values = stored.value.split(separator: " ").map(String.init)
            switch parts[0] {
            case "splits":
                let names = parts[1].split(separator: "/", maxSplits: 1).map(String.init)
                guard names.count == 2, values.count == 3, let count = Int(values[0]), let former = Int(values[1]),
                    let untilMs = Int64(values[2]), (1...ShardRouting.splitsMax).contains(count),
                    (1...ShardRouting.splitsMax).contains(former)
                else { continue }
                splits[OperationReference(connector: names[0], operation: names[1])] = Split(
                    splits: count, formerSplits: former, untilMs: untilMs, version: stored.version)
            case "shard":
                // A node's name may have spaces.
                let values = stored.value.split(separator: " ", maxSplits: 1).map(String.init)
                guard let number = Int(parts[1]), values.count == 2, let untilMs = Int64(values[0]) else { continue }
                moves[ShardID(number)] = Move(node: NodeID(values[1]), untilMs: untilMs > 0 ? untilMs : nil)
            case "drain": drained.insert(NodeID(parts[1]))
            default: continue
            }
        }
    }
}

/// One field of the stored orders; no value: the order is taken back.
package struct OverrideChange: Sendable, Hashable {
    package let field: String
    package let value: String?
}
