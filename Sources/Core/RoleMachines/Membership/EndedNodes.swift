import LiveModel
import Streams

/// Frees the leases and the node-list entry of nodes whose processes ended without a drain, one node at a time. The
/// entry goes last, because it names the leases to release.
///
/// A process of the same name may have started since, at any step. Therefore leases are released only under the epochs
/// of the ended process, and the entry is removed only if it is still as listed: a later process announces another one.
///
/// A node whose release fails is left to the next heartbeat, which lists it again. Bound: the nodes of one list; one
/// call at a time.
struct EndedNodes: Sendable {
    typealias Effect = MembershipMachine.Effect
    typealias CallID = MembershipMachine.CallID

    /// A node's entry in the node list.
    struct Entry: Sendable, Hashable {
        let node: NodeRecordPayload
        let payload: [UInt8]

        /// Returns nil for an entry of another format.
        init?(_ record: NodeRecord) {
            guard let node = NodeRecordPayload(payload: record.payload) else { return nil }
            (self.node, payload) = (node, record.payload)
        }
    }

    private enum State: Sendable {
        case idle
        /// The leases before the remaining ones are being released.
        case releasing(CallID, Entry, remaining: ArraySlice<ShardStatus>)
        case removing(CallID, Entry)
    }

    /// The greatest number of leases released at a time.
    static let releasesMax = 64

    private var state = State.idle
    /// The nodes to free after the one under way.
    private var waiting: ArraySlice<Entry> = []
    private var hasFreed = false
    private var lastCall: CallID = 0

    /// Begins with these nodes; does nothing while others are being freed.
    mutating func free(_ gone: [Entry]) -> [Effect] {
        guard case .idle = state else { return [] }
        (waiting, hasFreed) = (gone[...], false)
        return next()
    }

    mutating func leasesReleased(_ call: CallID, _ answer: Result<Void, StepFailure>) -> [Effect] {
        guard case .releasing(call, let entry, let remaining) = state else { return [] }
        switch answer {
        case .success: return release(remaining, of: entry)
        case .failure(let failure): return [.report(.notFreed(entry.node.id, reason: failure.reason))] + next()
        }
    }

    mutating func entryRemoved(_ call: CallID, _ answer: Result<Void, StepFailure>) -> [Effect] {
        guard case .removing(call, let entry) = state else { return [] }
        switch answer {
        case .success:
            hasFreed = true
            return [.report(.freed(entry.node.id))] + next()
        case .failure(let failure): return [.report(.notFreed(entry.node.id, reason: failure.reason))] + next()
        }
    }

    /// Frees the next node. After the last one, wakes the workers to take the shards, unless nothing was freed.
    private mutating func next() -> [Effect] {
        if let entry = waiting.popFirst() { return release(entry.node.shards[...], of: entry) }
        state = .idle
        return hasFreed ? [.wakeWorkers] : []
    }

    private mutating func release(_ shards: ArraySlice<ShardStatus>, of entry: Entry) -> [Effect] {
        lastCall += 1
        if shards.isEmpty {
            state = .removing(lastCall, entry)
            return [.removeEntry(lastCall, entry.node.id, payload: entry.payload)]
        }
        state = .releasing(lastCall, entry, remaining: shards.dropFirst(Self.releasesMax))
        return [.releaseLeases(lastCall, owner: entry.node.id, Array(shards.prefix(Self.releasesMax)))]
    }
}
