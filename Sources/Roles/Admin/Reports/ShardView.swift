import JSON
import LiveModel

/// One shard as operators see it, from what the broker and its owner report.
struct ShardView: Sendable {
    let shard: ShardID
    /// The node that holds the lease.
    let owner: NodeID?
    /// The node that should hold it.
    let wanted: NodeID?
    /// The node that an operator moved it to.
    let movedTo: NodeID?
    /// The owner's last heartbeat.
    let status: ShardStatus?
    /// The last entry of the events stream.
    let lastID: StreamID?
    let checkpoint: StreamID?
    /// The time for which the last entry has been in the stream, if no other is unread; nil: others may be.
    var lastForMs: Int64?

    /// A lag beyond this is reported. A healthy worker reads events within it and stores checkpoints
    /// about each second (`worker.checkpointMs`).
    static let behindMsMax: Int64 = 3_000

    /// The owner's read lag, by its last heartbeat or checkpoint.
    var behindMs: Int64 { min(Self.behindMs(last: lastID, read: readID), lastForMs ?? .max) }

    /// The last entry that the owner has read, by its last heartbeat or checkpoint.
    var readID: StreamID? { [status?.lastEventID, checkpoint].compactMap { $0 }.max() }

    /// Returns the read lag of a reader of a stream; 0 if either id is unknown.
    /// - Parameters:
    ///   - last: the last entry of the stream.
    ///   - read: the last entry that the reader has read.
    static func behindMs(last: StreamID?, read: StreamID?) -> Int64 {
        guard let last, let read, last.ms > read.ms else { return 0 }
        return Int64(clamping: last.ms - read.ms)
    }

    /// Returns for how long the last entry has been in the stream if it is the only unread one; nil otherwise. In a
    /// stream with an entry now and then, such as a marker, `behindMs` would be the time between the last two.
    /// - Parameter previous: the entry before it; nil if there is none.
    static func lastForMs(last: StreamID?, previous: StreamID?, read: StreamID?, nowMs: Int64) -> Int64? {
        guard let last, let read, previous.map({ $0 <= read }) ?? true else { return nil }
        return max(0, nowMs - Int64(clamping: last.ms))
    }

    /// The worst problem of the shard; `ok` if there is none.
    var verdict: String {
        guard let owner else {
            return wanted == nil ? "no worker" : "no owner; \(wanted?.name ?? "") should take it"
        }
        if let wanted, wanted != owner { return "moving to \(wanted)" }
        if let movedTo, movedTo != wanted { return "moved to \(movedTo), which is not live" }
        guard let status else { return "starting" }
        if behindMs > Self.behindMsMax { return "behind in reading events" }
        if status.due > 0, status.due >= status.running { return "behind in runs: \(status.due) due" }
        if status.paced > 0 { return "catching up (rate-limited): \(status.paced) to run" }
        return "ok"
    }

    func row(nowMs: Int64) -> JSONObject {
        var row: JSONObject = [
            "shard": .int(Int64(shard.number)), "owner": owner.map { .string($0.name) } ?? .null,
            "wanted": wanted.map { .string($0.name) } ?? .null, "pinned": movedTo.map { .string($0.name) } ?? .null,
            "isMoving": .bool(owner != wanted), "verdict": .string(verdict), "behindMs": .int(behindMs),
            "lastEvent": lastID.map { .string($0.description) } ?? .null,
            "checkpoint": checkpoint.map { .string($0.description) } ?? .null,
        ]
        if let status {
            row["ownedForMs"] = .int(max(0, nowMs - status.ownedSinceMs))
            row["liveQueries"] = .int(Int64(status.liveQueries))
            row["due"] = .int(Int64(status.due))
            row["running"] = .int(Int64(status.running))
            row["paced"] = .int(Int64(status.paced))
            row["waiting"] = .int(Int64(status.waiting))
            row["lastRefreshAgoMs"] = status.lastRefreshMs > 0 ? .int(max(0, nowMs - status.lastRefreshMs)) : .null
            row["takeOver"] = status.takeOver.json
            row["replayed"] = .int(Int64(clamping: status.takeOver.replayed))
            row["kept"] = .int(Int64(clamping: status.takeOver.kept))
            row["rerun"] = .int(Int64(clamping: status.takeOver.rerun))
        }
        return row
    }
}
