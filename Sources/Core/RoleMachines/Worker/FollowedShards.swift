import LiveModel
import Sharding

/// Decides which owned shards are marked as unfollowed (`ClusterOverrides.unfollowed`), so that publishers append no
/// events to their streams.
///
/// Only its owner knows that a shard has no live queries. Before it serves one again, it holds the announcements,
/// appends a resync marker to the events stream and removes the mark. Therefore
/// - runs start after the removal: a publisher that confirmed the mark after its commit did so earlier, so they see its
///   change, and
/// - neither this owner nor a later one trusts positions from before the marker, after which events may be missing.
///
/// A shard with live queries can be marked all the same: by a write of a former owner that arrived late, or by a Redis
/// server that lacks the removal. Then the mark is removed first, and the marker runs everything again. A mark that is
/// lost only costs appends.
///
/// Bounds: one step in flight for each shard; `heldMax` messages held for each, past which all gateways are asked to
/// announce again.
struct FollowedShards: Sendable {
    static let heldMax = 1_024

    enum Step: Sendable, Hashable { case appendMarker, removeMark }

    enum Request: Sendable {
        /// Mark these shards, owned under these epochs, in one call.
        case mark([ShardID: UInt64])
        case step(Step, ShardID, epoch: UInt64)
        /// Handle the held messages. If some were dropped, all gateways are to announce again.
        case release(ShardID, [ControlMessage], isComplete: Bool)
    }

    /// Which messages of a control stream wait.
    enum Holding: Sendable { case none, fromAnnouncement, all }

    private enum Phase: Sendable {
        /// Since when it has had no live queries; nil while it has some.
        case followed(emptySinceMs: Int64?)
        case marking
        /// - Parameter markDueMs: when to mark it again, because the mark may be missing; nil if it is there.
        case unfollowed(markDueMs: Int64?)
        case returning(Step, isInFlight: Bool)
        /// It has live queries, and a mark.
        case contested(Step, isInFlight: Bool)
    }

    private struct Shard: Sendable {
        let epoch: UInt64
        var phase: Phase
        var held: [ControlMessage] = []
        var droppedCount = 0

        var isHolding: Bool { !held.isEmpty || droppedCount > 0 }
    }

    /// How long a shard has no live queries before it is marked; 0: never.
    private let afterMs: Int64
    private var shards: [ShardID: Shard] = [:]
    private var mayMark = false

    init(afterMs: Int64) { self.afterMs = afterMs }

    /// The number of shards that are, or are being, marked.
    var unfollowedCount: Int {
        shards.values.count { if case .followed = $0.phase { false } else { true } }
    }

    // MARK: Ownership

    mutating func opened(_ shard: ShardID, epoch: UInt64, isMarked: Bool, nowMs: Int64) {
        let phase = isMarked ? Phase.unfollowed(markDueMs: nil) : .followed(emptySinceMs: nowMs)
        shards[shard] = Shard(epoch: epoch, phase: phase)
    }

    mutating func lost(_ shard: ShardID) { shards[shard] = nil }

    // MARK: Marking

    /// - Parameter empty: the owned shards without live queries.
    mutating func ticked(empty: Set<ShardID>, nowMs: Int64) -> [Request] {
        var due: [ShardID: UInt64] = [:]
        var requests: [Request] = []
        for shard in shards.keys.sorted() {
            guard let owned = shards[shard] else { continue }
            switch owned.phase {
            case .followed(let sinceMs):
                guard empty.contains(shard) else {
                    shards[shard]?.phase = .followed(emptySinceMs: nil)
                    continue
                }
                shards[shard]?.phase = .followed(emptySinceMs: sinceMs ?? nowMs)
                if let sinceMs, nowMs - sinceMs >= afterMs { due[shard] = owned.epoch }
            case .unfollowed(let dueMs): if let dueMs, dueMs <= nowMs { due[shard] = owned.epoch }
            case .returning(let step, false):
                shards[shard]?.phase = .returning(step, isInFlight: true)
                requests.append(.step(step, shard, epoch: owned.epoch))
            case .contested(let step, false):
                shards[shard]?.phase = .contested(step, isInFlight: true)
                requests.append(.step(step, shard, epoch: owned.epoch))
            case .marking, .returning, .contested: break
            }
        }
        guard afterMs > 0, mayMark, !due.isEmpty else { return requests }
        for shard in due.keys { shards[shard]?.phase = .marking }
        return requests + [.mark(due)]
    }

    /// - Parameter isDone: false: the shards may be marked or not.
    mutating func marked(_ marked: [ShardID: UInt64], isDone: Bool, nowMs: Int64) -> [Request] {
        marked.keys.sorted().compactMap { shard in
            guard let owned = shards[shard], owned.epoch == marked[shard], case .marking = owned.phase else {
                return nil
            }
            if owned.isHolding { return comeBack(shard) }
            shards[shard]?.phase = .unfollowed(markDueMs: isDone ? nil : nowMs + afterMs)
            return nil
        }
    }

    /// Handles the marks as a read of the overrides found them.
    mutating func listed(_ unfollowed: UnfollowedShards, empty: Set<ShardID>, nowMs: Int64) -> [Request] {
        mayMark = unfollowed.areKnownToAll
        var requests: [Request] = []
        for shard in shards.keys.sorted() {
            guard let owned = shards[shard] else { continue }
            let isMarked = unfollowed.marked.contains(shard)
            switch owned.phase {
            case .followed where isMarked && empty.contains(shard): shards[shard]?.phase = .unfollowed(markDueMs: nil)
            case .followed where isMarked:
                shards[shard]?.phase = .contested(.removeMark, isInFlight: true)
                requests.append(.step(.removeMark, shard, epoch: owned.epoch))
            case .unfollowed where !mayMark: requests.append(comeBack(shard))
            case .unfollowed(nil) where !isMarked:
                shards[shard]?.phase = .unfollowed(markDueMs: nowMs + afterMs)
            case .followed, .marking, .unfollowed, .returning, .contested: break
            }
        }
        return requests
    }

    // MARK: Announcements

    func holding(_ shard: ShardID) -> Holding {
        guard let owned = shards[shard] else { return .none }
        switch owned.phase {
        case .followed, .contested: return .none
        case .returning: return .all
        case .marking, .unfollowed: return owned.isHolding ? .all : .fromAnnouncement
        }
    }

    /// Holds messages that arrived on a shard's control stream, in their order.
    mutating func hold(_ messages: [ControlMessage], of shard: ShardID) -> [Request] {
        guard !messages.isEmpty, var owned = shards.removeValue(forKey: shard) else { return [] }
        let kept = min(messages.count, Self.heldMax - owned.held.count)
        owned.held += messages.prefix(kept).map(Self.distrusting)
        owned.droppedCount += messages.count - kept
        shards[shard] = owned
        // A mark in flight is awaited: removed before it arrives, it would stay.
        guard case .unfollowed = owned.phase else { return [] }
        return [comeBack(shard)]
    }

    /// Removes the position of the result that the gateway has: it is from before the marker, which may be read only
    /// after the message is handled.
    private static func distrusting(_ message: ControlMessage) -> ControlMessage {
        guard case .announce(let gateway, let query, let known?, let announcement) = message else { return message }
        return .announce(
            gateway: gateway, query: query, known: KnownResult(digest: known.digest, position: nil),
            announcement: announcement)
    }

    private mutating func comeBack(_ shard: ShardID) -> Request {
        shards[shard]?.phase = .returning(.appendMarker, isInFlight: true)
        return .step(.appendMarker, shard, epoch: shards[shard]?.epoch ?? 0)
    }

    /// Handles the answer to a step; a failed one is repeated with the next tick.
    mutating func stepEnded(_ step: Step, of shard: ShardID, epoch: UInt64, isDone: Bool, nowMs: Int64) -> [Request] {
        guard let owned = shards[shard], owned.epoch == epoch else { return [] }
        switch owned.phase {
        case .returning(step, isInFlight: true):
            guard isDone else {
                shards[shard]?.phase = .returning(step, isInFlight: false)
                return []
            }
            if case .appendMarker = step {
                shards[shard]?.phase = .returning(.removeMark, isInFlight: true)
                return [.step(.removeMark, shard, epoch: epoch)]
            }
            shards[shard] = Shard(epoch: epoch, phase: .followed(emptySinceMs: nowMs))
            return [.release(shard, owned.held, isComplete: owned.droppedCount == 0)]
        case .contested(step, isInFlight: true):
            guard isDone else {
                shards[shard]?.phase = .contested(step, isInFlight: false)
                return []
            }
            if case .removeMark = step {
                shards[shard]?.phase = .contested(.appendMarker, isInFlight: true)
                return [.step(.appendMarker, shard, epoch: epoch)]
            }
            shards[shard]?.phase = .followed(emptySinceMs: nil)
            return []
        case .followed, .marking, .unfollowed, .returning, .contested: return []
        }
    }
}
