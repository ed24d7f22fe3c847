import Broker
import Catalog
import ChangeTailer
import Cluster
import Gateway
import Execution
import JSON
package import LiveModel
import Observability
import Operations
import Recording
import RoleMachines
import Sharding
import Streams

/// The actions of the admin API. Overrides go to the broker, where every node reads them; the slot is the database's.
package struct NodeOperator: Sendable {
    private let parts: AdministeredNode

    private var broker: any Broker { parts.cluster.broker }
    private var overrideList: OverrideList { parts.cluster.overrideList }
    private var revocations: RevocationList { parts.cluster.revocations }
    private var catalogs: ServedCatalogs { parts.catalogs }
    private var sessions: SessionRegistry { parts.components.sessions }
    private var clock: ServiceClock { parts.clock }

    package init(_ node: AdministeredNode) {
        parts = node
    }

    /// An action with its operands, as given in the path and the query.
    package enum Action: Sendable, Hashable {
        case splits(OperationReference, count: Int)
        /// - Parameter forMs: nil moves the shard until the move is cleared.
        case move(ShardID, to: NodeID, forMs: Int64?)
        case clearMove(ShardID)
        case drain(NodeID)
        case undrain(NodeID)
        case endSession(UInt64)
        /// - Parameter forMs: nil revokes until the revocation is cleared.
        case revoke(RevocationSubject, forMs: Int64?, sparesLaterTokens: Bool)
        case clearRevocation(RevocationSubject)
        case invalidate(InvalidationTarget)
        case dropSlot
        /// - Parameter tracePercent: the share of mutations that are traced.
        case record(forMs: Int64, tracePercent: Int)
        case stopRecording

        /// The text for the audit log.
        package var description: String {
            switch self {
            case .splits(let operation, let count): "splits \(operation) \(count)"
            case .move(let shard, let node, let forMs):
                "move shard \(shard) to \(node) " + (forMs.map { "for \($0) ms" } ?? "until cleared")
            case .clearMove(let shard): "clear move of shard \(shard)"
            case .drain(let node): "drain \(node)"
            case .undrain(let node): "undrain \(node)"
            case .endSession(let id): "end session \(id)"
            case .revoke(let subject, let forMs, let sparesLater):
                "revoke \(subject) " + (forMs.map { "for \($0) ms" } ?? "until cleared")
                    + (sparesLater ? ", tokens issued until now" : "")
            case .clearRevocation(let subject): "clear the revocation of \(subject)"
            case .invalidate(let target): "invalidate \(target)"
            case .dropSlot: "drop the replication slot"
            case .record(let forMs, let percent): "trace \(percent) % of the mutations for \(forMs) ms"
            case .stopRecording: "stop recording"
            }
        }
    }

    /// Performs an action.
    /// - Returns: a sentence that says what was done.
    /// - Throws: `.notFound` for an unknown node, shard, operation or session; `.badRequest` for a value out of range,
    ///   or a slot in use; `.unavailable` if the broker or the database is unavailable.
    package func perform(_ action: Action) async throws(RequestError) -> String {
        switch action {
        case .splits(let operation, let count): return try await setSplits(of: operation, to: count)
        case .move(let shard, let node, let forMs):
            try requireShard(shard)
            let roles = try await roles(of: node)
            guard roles.contains(.worker) else {
                throw RequestError(.badRequest, "node \"\(node)\" is not a worker")
            }
            let untilMs = forMs.map { clock.nowMs() + $0 }
            try await store([ClusterOverrides.move(shard, to: .init(node: node, untilMs: untilMs))])
            return "shard \(shard) goes to \(node) until \(untilMs.map(UTCTime.text) ?? "the move is cleared")"
        case .clearMove(let shard):
            try requireShard(shard)
            guard overrideList.overrides.moves[shard] != nil else {
                throw RequestError(.notFound, "shard \(shard) is not moved")
            }
            try await store([ClusterOverrides.move(shard, to: nil)])
            return "shard \(shard) returns to its regular owner"
        case .drain(let node):
            _ = try await roles(of: node)
            try await store([ClusterOverrides.drain(node, true)])
            return "\(node) hands over its shards and sessions and accepts no new ones"
        case .undrain(let node):
            // The node may be gone: the override outlives it.
            guard overrideList.overrides.drained.contains(node) else {
                throw RequestError(.notFound, "node \"\(node)\" is not drained by an override")
            }
            try await store([ClusterOverrides.drain(node, false)])
            return "\(node) accepts shards and sessions again"
        case .endSession(let id):
            guard sessions.end(id) else {
                throw RequestError(
                    .notFound,
                    "this node has no session \(id); name the node that has it "
                        + "(freshet admin --node NODE, or node=NODE)"
                )
            }
            return "session \(id) was asked to reconnect"
        case .revoke(let subject, let forMs, let sparesLaterTokens):
            let untilMs = try await revocations.revoke(subject, forMs: forMs, sparesLaterTokens: sparesLaterTokens)
            sessions.recheckIdentities()
            return "\(subject) is revoked" + (untilMs.map { " until \(UTCTime.text(epochMs: $0))" } ?? "")
        case .clearRevocation(let subject):
            try await revocations.lift(subject)
            return "\(subject) is no longer revoked"
        case .invalidate(let target):
            let subject = try target.subject(in: catalogs.set.current.catalog)
            try await parts.cluster.invalidations.invalidate(subject)
            sessions.invalidate(parts.cluster.invalidations.current)
            return "clients drop \(target) from their caches"
        case .dropSlot: return try await dropSlot()
        case .record(let forMs, let percent):
            parts.components.recorder.sample(rate: Double(percent) / 100, forMs: forMs, nowMs: clock.nowMs())
            return "\(parts.id) traces \(percent) % of its mutations for \(forMs) ms"
        case .stopRecording:
            parts.components.recorder.disarm()
            return "\(parts.id) records nothing any more, but for open tails"
        }
    }

    private func dropSlot() async throws(RequestError) -> String {
        if parts.components.slot.holdsOwnEvents {
            throw RequestError(
                .badRequest, "mutations leave their events in the log: set outbox.kind to table on all nodes first")
        }
        let set = catalogs.set
        guard set.current.catalog.captured == nil else {
            throw RequestError(
                .badRequest, "the project still has source: wal or both; deploy it with source: mutations first")
        }
        // Nodes would create the slot again for its sessions.
        guard set.captured == nil else {
            throw RequestError(
                .badRequest,
                "a former version of the project that is loaded still has source: wal or both; "
                    + "try again when deploy.keepMs, twice deploy.moveMs and a minute have passed")
        }
        do {
            return try await parts.components.slot.remove()
        } catch {
            throw RequestError(error)
        }
    }

    private func setSplits(of operation: OperationReference, to count: Int) async throws(RequestError) -> String {
        guard let stored = catalogs.set.operation(operation), stored.kind == .query else {
            throw RequestError(.notFound, "no stored query \"\(operation)\"")
        }
        let countMax = min(ShardRouting.splitsMax, overrideList.shardCount)
        guard (1...countMax).contains(count) else {
            throw RequestError(.badRequest, "count must be 1 to \(countMax), not \(count)")
        }
        do {
            try await overrideList.refresh()
        } catch {
            throw RequestError(.unavailable, "\(error)")
        }
        try await store([overrideList.overrides.settingSplits(of: operation, to: count, nowMs: clock.nowMs())])
        let shards = ShardRouting.shards(of: operation, splits: count, shardCount: overrideList.shardCount)
        return "\(operation) is divided over the shards \(shards.map(\.description).joined(separator: ", "))"
    }

    private func requireShard(_ shard: ShardID) throws(RequestError) {
        guard (0..<overrideList.shardCount).contains(shard.number) else {
            throw RequestError(
                .notFound, "there is no shard \(shard); the cluster has 0 to \(overrideList.shardCount - 1)")
        }
    }

    private func roles(of node: NodeID) async throws(RequestError) -> Set<Role> {
        let nodes: [NodeRecordPayload]
        do {
            nodes = try await parts.cluster.membership.liveNodes().nodes
        } catch {
            throw RequestError(.unavailable, "\(error)")
        }
        guard let found = nodes.first(where: { $0.id == node }) else {
            let names = nodes.map(\.id.name).joined(separator: ", ")
            throw RequestError(.notFound, "no live node \"\(node)\"; live nodes: \(names)")
        }
        return found.roles
    }

    private func store(_ changes: [OverrideChange]) async throws(RequestError) {
        do {
            try await overrideList.change(changes)
        } catch {
            throw RequestError(.unavailable, "\(error)")
        }
        // This node acts on them now, and not with its next heartbeat.
        await parts.cluster.membership.refresh()
    }
}

extension RequestError {
    init(_ failure: SlotFailure) {
        let code: ErrorCode =
            switch failure.kind {
            case .missing: .notFound
            case .refused: .badRequest
            case .unavailable: .unavailable
            }
        self.init(code, failure.description)
    }
}
