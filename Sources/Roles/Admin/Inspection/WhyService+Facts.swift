import Broker
import Catalog
import ChangeTailer
import Cluster
import Execution
import Inspection
import JSON
import LiveModel
import Operations
import RoleMachines
import SchemaModel
import Sharding
import Streams

/// The facts that catalogs, Redis and the database tell of a live query.
extension WhyService {
    /// Adds the mutations that write what the query reads, by the catalog.
    func staticRules(
        of reference: String, _ facts: inout WhyFacts, _ answer: inout JSONObject
    ) async {
        let set = parts.catalogs.set
        guard let query = OperationReference(reference), let operation = set.operation(query), operation.kind == .query
        else { return }
        (facts.covered, facts.missing) = MissingRules.of(operation, in: set)
        answer["staticRules"] = [
            "covered": .array(facts.covered.map(JSONValue.string)), "missing": .array(facts.missing.map(\.json)),
            "hint": "automatic: lists",
        ]
        let source = operation.automaticSites?.source ?? .mutations
        let holdsEvents = (try? await parts.components.slot.publishedPosition()) != nil
        if source != .mutations || holdsEvents {
            facts.readsLog = true
            facts.slotProblem = await slotProblem(holdsEvents: holdsEvents)
        }
        answer["warnings"] = .array(
            facts.missing.prefix(3).map {
                .string("No rule refreshes the query when \($0.mutation) writes \($0.tables.joined(separator: ", ")).")
            })
    }

    /// Adds when nodes executed the mutations that no rule is about.
    func countExecutions(_ facts: inout WhyFacts) async throws {
        let gathered = try await peers.gather("/admin/v1/top", query: [], only: nil, roles: [.api]) {
            NodeInspector(parts).costs()
        }
        facts.areExecutionsKnown = gathered.unreachable.isEmpty
        let wanted = Set(facts.missing.map(\.mutation))
        for row in gathered.parts.flatMap({ $0.json.array("operations") }) {
            let name = row.string("operation")
            guard wanted.contains(name), let atMs = row["total"]?["lastRequestAtMs"]?.intValue else { continue }
            facts.executions[name] = max(facts.executions[name] ?? 0, atMs)
        }
    }

    /// Says which replicas runs of the query do not use. They are no cause: the primary runs their share.
    func warnOfReplicas(_ answer: inout JSONObject) {
        let problems = (answer["truth"]?.array("replicas") ?? []).compactMap { $0["problem"]?.stringValue }
        if problems.isEmpty { return }
        answer["warnings"] = .array((answer["warnings"]?.arrayValue ?? []) + problems.map(JSONValue.string))
    }

    private func slotProblem(holdsEvents: Bool) async -> String? {
        let tables = parts.catalogs.set.captured?.tableNames
        do {
            return try await parts.components.slot.report(tables: tables ?? (holdsEvents ? [] : nil)).problem
        } catch {
            return "\(error)"
        }
    }

    func shard(_ shard: ShardID, _ facts: inout WhyFacts, _ answer: inout JSONObject) async throws {
        let (broker, overrides) = (parts.cluster.broker, parts.cluster.overrideList.overrides)
        let lease = try await broker.lease(broker.keys.lease(shard: shard.number))
        let workers = try await parts.cluster.membership.liveNodes().workers
        let wanted = ShardAssignment.owner(
            of: shard, among: workers, movedTo: overrides.movedShards(nowMs: facts.nowMs)[shard])
        var known = WhyFacts.Shard(number: shard.number, owner: lease?.owner, wanted: wanted?.name)
        known.isOwnerDrained = lease.map { facts.drained.contains($0.owner) } ?? false
        known.lastEventID = try await broker.info(of: broker.keys.events(shard: shard.number))?.lastID.description
        facts.shard = known
        var row: JSONObject = ["shard": .int(Int64(shard.number))]
        row["owner"] = known.owner.map(JSONValue.string)
        row["wanted"] = known.wanted.map(JSONValue.string)
        row["leaseRemainingMs"] = lease.map { .int(Int64($0.remainingMs)) }
        row["isDrained"] = .bool(known.isOwnerDrained)
        row["lastEventID"] = known.lastEventID.map(JSONValue.string)
        answer["shard"] = .object(row)
    }
}
