import CEL
import Catalog
import Cluster
import Clocks
import Execution
import Gateway
import Inspection
package import JSON
import LiveModel
import Operations
import Sharding

/// Answers "why is this screen stale?" and traces: gathers what all nodes know, and what Redis and Postgres say, and
/// leaves the verdict to `WhyVerdict`.
package struct WhyService: Sendable {
    let node: NodeInspection
    let peers: PeerReports

    var parts: AdministeredNode { node.parts }

    package init(_ node: AdministeredNode, peers: PeerReports) {
        self.node = NodeInspection(node)
        self.peers = peers
    }

    // MARK: Why

    /// - Throws: `RequestError` if the list of nodes cannot be read.
    func why(_ question: WhyQuestion) async throws -> JSONValue {
        let startNs = MonotonicClock.nowNs()
        var facts = WhyFacts(nowMs: parts.clock.nowMs())
        facts.drained = Set(parts.cluster.overrideList.overrides.drained.map(\.name))
        facts.askedUid = question.uid
        var answer = JSONObject()
        if let uid = question.uid {
            facts.isUserRevoked = isRevoked(uid)
        }
        if let target = try await target(of: question, &facts, &answer), !facts.isUserRevoked {
            try await gather(target, question, &facts, &answer)
        }
        let verdict = WhyVerdict(facts)
        var whole: JSONObject = ["verdict": verdict.json]
        for member in answer.entries { whole[member.key] = member.value }
        whole["tookMs"] = .double((Double(MonotonicClock.nowNs() - startNs) / 100_000).rounded() / 10)
        return .object(whole)
    }

    private func isRevoked(_ uid: String) -> Bool {
        parts.cluster.revocations.revocation(of: Auth(uid: uid, token: JSONObject()), apiKey: nil) != nil
    }

    /// The live query in question, with its parts of all nodes as far as they are gathered already.
    private struct Target {
        let key: LiveQueryKey
        /// Nil if only nodes know it.
        var query: LiveQuery?
        var gathered: GatheredParts?
    }

    /// - Returns: nil if the question leads to no live query; then the facts say why.
    private func target(
        of question: WhyQuestion, _ facts: inout WhyFacts, _ answer: inout JSONObject
    ) async throws -> Target? {
        switch question.subject {
        case .key(let key): return Target(key: key)
        case .session(let name, let id, let operation, let key):
            facts.askedSession = "\(name)/\(id)"
            return try await target(ofSession: id, on: name, operation, key, &facts, &answer)
        case .operation(let connector, let name, let variables, let auth):
            return try await target(connector, name, variables, auth, question, &facts)
        }
    }

    private func target(
        ofSession id: UInt64, on name: String, _ operation: String?, _ wanted: LiveQueryKey?,
        _ facts: inout WhyFacts, _ answer: inout JSONObject
    ) async throws -> Target? {
        let part: JSONValue
        do {
            let gathered = try await peers.gather(
                "/admin/v1/node/session/\(id)", query: [], only: NodeID(name), roles: []
            ) { await node.session(id) }
            facts.unreachable += gathered.unreachable.map(\.node.name)
            answer["unreachable"] = Self.rows(gathered.unreachable)
            part = gathered.parts.first?.json ?? .null
        } catch let error as RequestError where error.code == .notFound {
            part = .null
        }
        facts.isSessionKnown = part.bool("isKnown")
        facts.ended = part.array("ended").map(EndRecord.init(json:))
        answer["ended"] = .array(facts.ended.map(\.json))
        let rows = part.array("subscriptions").filter { row in
            if let wanted { return row.string("key") == wanted.description }
            return operation.map { row.string("operation") == $0 || row.string("operation").hasSuffix("/" + $0) }
                ?? true
        }
        let keys = Set(rows.map { $0.string("key") })
        guard keys.count <= 1 else {
            facts.choices = keys.count
            answer["choices"] = .array(
                rows.map { row in
                    [
                        "key": .string(row.string("key")), "operation": .string(row.string("operation")),
                        "subscription": .string(row.string("subscription")),
                    ]
                })
            return nil
        }
        guard let key = keys.first.flatMap({ Digest(hex: $0) }) else { return nil }
        return Target(key: LiveQueryKey(digest: key))
    }

    /// Finds the live query as a gateway would. Sessions that began with a former version follow its query, so that is
    /// looked for where nobody follows the current one.
    private func target(
        _ connector: String?, _ name: String, _ variables: JSONObject, _ auth: Auth?, _ question: WhyQuestion,
        _ facts: inout WhyFacts
    ) async throws -> Target? {
        let snapshot = parts.catalogs.snapshot
        var first: Target?
        for lookup in [snapshot.lookup] + snapshot.formers {
            let resolved: ResolvedOperation
            do throws(RequestError) {
                resolved = try lookup.resolve(
                    connector: connector, name: name, document: nil, variables: variables, auth: auth,
                    nowMs: facts.nowMs, kinds: .only(.query), isAdministrator: true)
            } catch {
                if first != nil { break }
                let kind: WhyFacts.Refusal.Kind =
                    error.code == .invalidVariable ? .variablesInvalid : .operationUnknown
                facts.refusal = WhyFacts.Refusal(kind, error.message)
                continue
            }
            facts.refusal = nil
            facts.operation = resolved.operation.reference.description
            if first == nil, let refusal = resolved.refusal(nowMs: facts.nowMs) {
                facts.refusal = WhyFacts.Refusal(
                    .authRefused, refusal.message, rule: resolved.operation.auth.program.source)
                return nil
            }
            let query = resolved.liveQuery
            let gathered = try await gathered(query.key, arms: question.arms)
            let target = Target(key: query.key, query: query, gathered: gathered)
            if gathered.parts.contains(where: { $0.json["gateway"] != nil }) { return target }
            if first == nil { first = target }
        }
        return first
    }

    private func gathered(_ key: LiveQueryKey, arms: Bool) async throws -> GatheredParts {
        try await peers.gather(
            "/admin/v1/node/query", query: [("key", key.description), ("arm", arms ? "yes" : "no")], only: nil,
            roles: []
        ) { await node.query(key, arms: arms) }
    }

    private func gather(
        _ target: Target, _ question: WhyQuestion, _ facts: inout WhyFacts, _ answer: inout JSONObject
    ) async throws {
        var gathered = target.gathered ?? GatheredParts()
        if target.gathered == nil { gathered = try await self.gathered(target.key, arms: question.arms) }
        if question.runsQuery {
            let truth = try await truth(target, gathered)
            facts.truth = Self.truth(truth)
            answer["truth"] = truth
            // The newest state: what was on its way when the run began may have arrived.
            gathered = try await settled(target, gathered, facts.truth.digest)
        }
        take(gathered, &facts, &answer)
        if let truth = answer["truth"] { answer["truth"] = Self.compared(truth, facts) }
        if answer["query"] == nil, let query = target.query {
            answer["query"] = [
                "key": .string(query.key.description), "operation": .string(query.operation.description),
            ]
        }
        let reference = answer["query"]?.string("operation") ?? facts.operation
        facts.operation = reference
        await staticRules(of: reference, &facts, &answer)
        if !facts.missing.isEmpty, answer["truth"]?.string("state") == "differs" { try await countExecutions(&facts) }
        warnOfReplicas(&answer)
        let number = gathered.parts.lazy.compactMap { $0.json.optionalInt("shard") }.first.map { Int($0) }
        let routed = target.query.map {
            ShardRouting.route(
                of: $0, shardCount: parts.cluster.overrideList.shardCount,
                overrides: parts.cluster.overrideList.overrides
            ).shard.number
        }
        if let shard = number ?? routed { try await self.shard(ShardID(shard), &facts, &answer) }
    }

    /// The time that a result on its way has to arrive.
    private static let settlingMs: Int64 = 1_000
    private static let settlingStepMs = 100

    /// Looks again while gateways hold another result than the database answers but a run is due or in flight.
    private func settled(
        _ target: Target, _ gathered: GatheredParts, _ truth: String?
    ) async throws -> GatheredParts {
        let deadline = Deadline(afterMs: Self.settlingMs)
        var gathered = gathered
        guard let truth else { return gathered }
        while !deadline.isReached {
            let gateways = gathered.parts.compactMap { $0.json["gateway"].map(GatewayReport.init(json:)) }
            let owner = gathered.parts.lazy.compactMap { $0.json["registered"] }.first.map(OwnerReport.init(json:))
            guard WhyFacts.isOnItsWay(truth, from: owner, to: gateways) else { return gathered }
            try? await Task.sleep(for: .milliseconds(Self.settlingStepMs))
            gathered = try await self.gathered(target.key, arms: false)
        }
        return gathered
    }

    // MARK: Parts of the answer

    private func take(_ gathered: GatheredParts, _ facts: inout WhyFacts, _ answer: inout JSONObject) {
        let parts = gathered.parts.sorted { $0.node < $1.node }.map(\.json)
        facts.unreachable += gathered.unreachable.map(\.node.name)
        answer["unreachable"] = Self.rows(gathered.unreachable)
        let owners = parts.filter { $0["registered"] != nil }
        // Two nodes while a shard moves; the greater epoch serves.
        let owner = owners.max { ($0["registered"]?.int("epoch") ?? 0) < ($1["registered"]?.int("epoch") ?? 0) }
        if let registered = owner?["registered"] {
            facts.owner = OwnerReport(json: registered)
            answer["registered"] = registered
        }
        let query = (owner ?? parts.first { $0["query"] != nil })?["query"]
        if let query {
            answer["query"] = query
            facts.isCurrentVersion = query.bool("isCurrentVersion")
        }
        facts.gateways = parts.compactMap { $0["gateway"].map(GatewayReport.init(json:)) }
        answer["gateways"] = .array(facts.gateways.map { $0.json(truth: facts.truth.digest) })
        facts.events = (owner?.array("events") ?? []).map(EventVerdict.init(json:))
        answer["events"] = .array(facts.events.map(\.json))
        answer["runs"] = owner?["runs"] ?? []
        let ended = parts.flatMap { $0.array("ended").map(EndRecord.init(json:)) }
        // A session's node tells of its ends, too.
        facts.ended =
            ended
            + facts.ended.filter { end in !ended.contains { $0.session == end.session && $0.reason == end.reason } }
        answer["ended"] = .array(facts.ended.map(\.json))
        answer["recording"] = (owner ?? parts.first)?["recording"] ?? ["isArmed": false]
    }

    static func rows(_ nodes: [UnreachableNode]) -> JSONValue {
        .array(nodes.map { ["node": .string($0.node.name), "reason": .string($0.reason)] })
    }

    /// Asks one node that knows the live query: its owner, or a gateway, or this one.
    private func truth(_ target: Target, _ gathered: GatheredParts) async throws -> JSONValue {
        let knowing = gathered.parts.sorted { $0.node < $1.node }
        let chosen =
            knowing.first { $0.json["registered"] != nil } ?? knowing.first { $0.json["gateway"]?["digest"] != nil }
            ?? knowing.first { $0.json["query"] != nil }
        guard let chosen, chosen.node != parts.id else { return await node.truth(target.key, known: target.query) }
        let asked = try await peers.gather(
            "/admin/v1/node/truth", query: [("key", target.key.description)], only: chosen.node, roles: []
        ) { await node.truth(target.key) }
        return asked.parts.first?.json
            ?? ["state": "failed", "error": .string(asked.unreachable.first?.reason ?? "no answer")]
    }

    private static func truth(_ json: JSONValue) -> WhyFacts.Truth {
        switch json.string("state") {
        case "answered": .answered(digest: json.string("digest"))
        case "timedOut": .timedOut(afterMs: NodeInspection.truthMs)
        default: .failed(json.string("error"))
        }
    }

    /// Puts the comparison in place of the node's own state.
    private static func compared(_ truth: JSONValue, _ facts: WhyFacts) -> JSONValue {
        var object = truth.objectValue ?? JSONObject()
        object["node"] = nil
        if let digest = facts.truth.digest {
            let isSame = facts.gateways.allSatisfy { $0.digest == nil || $0.digest == digest }
            object["state"] = isSame ? "same" : "differs"
        }
        return .object(object)
    }
}
