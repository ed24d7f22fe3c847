package import JSON

/// The answer to "why is this screen stale?" in one sentence.
package struct WhyVerdict: Sendable, Hashable {
    /// Stable: programs compare them.
    package enum Code: String, Sendable, CaseIterable {
        /// Gateways hold what the database answers.
        case fresh
        /// An event is on its way to a run.
        case refreshPending = "refresh_pending"
        /// A result is on its way to the client.
        case deliveryPending = "delivery_pending"
        case authRefused = "auth_refused"
        case operationUnknown = "operation_unknown"
        case variablesInvalid = "variables_invalid"
        case sessionUnknown = "session_unknown"
        /// The session follows several live queries.
        case choose
        case notFollowed = "not_followed"
        case tokenExpired = "token_expired"
        case userRevoked = "user_revoked"
        case clientStalled = "client_stalled"
        case noOwner = "no_owner"
        /// Markers through the shard do not arrive: nothing does.
        case shardStuck = "shard_stuck"
        case nodeDrained = "node_drained"
        /// The session began with another version of the project.
        case otherVersion = "other_version"
        case runFailing = "run_failing"
        case resolverHangs = "resolver_hangs"
        case runSlow = "run_slow"
        case noRule = "no_rule"
        case conditionFalse = "condition_false"
        case slotLost = "slot_lost"
        case staleUnexplained = "stale_unexplained"
        /// Too little is known: nodes did not answer, or the query was not run.
        case unknown
    }

    package let code: Code
    package let sentence: String
    /// The next steps.
    package let next: [String]

    init(_ code: Code, _ sentence: String, next: [String] = []) {
        self.code = code
        self.sentence = sentence
        self.next = next
    }

    /// Whether the screen is, or may be, stale.
    package var isStale: Bool { code != .fresh && code != .choose }

    package enum State: String, Sendable {
        case fresh, stale
        /// The question found no screen, or too little is known.
        case unclear
    }

    package var state: State {
        switch code {
        case .fresh: .fresh
        case .operationUnknown, .variablesInvalid, .sessionUnknown, .choose, .notFollowed, .unknown: .unclear
        default: .stale
        }
    }

    package var json: JSONValue {
        [
            "code": .string(code.rawValue), "state": .string(state.rawValue), "sentence": .string(sentence),
            "isStale": .bool(isStale),
            "next": .array(next.map(JSONValue.string)),
        ]
    }
}

/// The order of the checks: what keeps a client from being served at all, then the path from the client back to the
/// owner, then the comparison with the database, and at last what explains a difference.
extension WhyVerdict {
    package init(_ facts: WhyFacts) {
        self =
            Self.ofQuestion(facts) ?? Self.ofSessions(facts) ?? Self.ofOwner(facts) ?? Self.ofDatabase(facts)
            ?? Self.ofDifference(facts)
    }

    /// The time after which a run in flight counts as slow.
    static let slowMs: Int64 = 1_000

    // MARK: The question

    private static func ofQuestion(_ facts: WhyFacts) -> WhyVerdict? {
        if facts.isUserRevoked, let uid = facts.askedUid {
            return WhyVerdict(
                .userRevoked, "The user \(uid) is revoked: no session of the user is admitted.",
                next: ["freshet admin revocations", WhyCommand.text("unrevoke", "uid", uid)])
        }
        if let refusal = facts.refusal {
            switch refusal.kind {
            case .operationUnknown: return WhyVerdict(.operationUnknown, sentence(refusal.message))
            case .variablesInvalid:
                return WhyVerdict(.variablesInvalid, "The variables are not valid: \(refusal.message).")
            case .authRefused:
                return WhyVerdict(
                    .authRefused,
                    "@auth refuses this user: \(refusal.message)" + (refusal.rule.map { " (\($0))" } ?? "") + ".",
                    next: ["Compare the user's claims with the rule, or ask as another user."])
            }
        }
        if facts.choices > 0 {
            return WhyVerdict(
                .choose, "The session follows \(facts.choices) live queries; name the key of one beside the session.")
        }
        guard let session = facts.askedSession, !facts.isSessionKnown else { return nil }
        if let end = facts.lastEnd { return ofEnd(end, facts) }
        if let node = facts.askedNode, facts.unreachable.contains(node) {
            return WhyVerdict(
                .unknown, "The node \(node) of the session does not answer on its admin port.",
                next: ["freshet admin nodes"])
        }
        if let node = facts.askedNode, facts.drained.contains(node) {
            return WhyVerdict(
                .nodeDrained,
                "The node \(node) is drained, so the session \(session) was asked to reconnect to another one.",
                next: [WhyCommand.text("undrain", node), "Ask again by operation, variables and user."])
        }
        return WhyVerdict(
            .sessionUnknown, "No node has the session \(session): it has ended, or never was.",
            next: ["freshet admin sessions"])
    }

    private static func sentence(_ text: String) -> String {
        text.prefix(1).uppercased() + text.dropFirst() + (text.hasSuffix(".") ? "" : ".")
    }

    // MARK: Sessions

    private static func ofSessions(_ facts: WhyFacts) -> WhyVerdict? {
        let sessions = facts.sessions
        guard !sessions.isEmpty else {
            if let end = facts.lastEnd { return ofEnd(end, facts) }
            let others = facts.gateways.reduce(0) { $0 + $1.sessions.count }
            if others == 0, !facts.unreachable.isEmpty { return nil }
            let who = facts.askedUid.map { "No session of \($0)" } ?? "No session"
            return WhyVerdict(
                .notFollowed,
                "\(who) follows this live query" + (others > 0 ? "; \(others) of others do." : " now."),
                next: [
                    "Compare the variables and the user with what the client sends.",
                    "Ask again once the client has subscribed.",
                ])
        }
        let expired = sessions.filter { $0.isSuspended || ($0.tokenExpiresInMs.map { $0 <= 0 } ?? false) }
        if expired.count == sessions.count, let session = expired.first {
            return WhyVerdict(
                .tokenExpired,
                "The token of the session \(session.session) has expired"
                    + (session.tokenExpiresInMs.map { " \(ago(-$0)) ago" } ?? "")
                    + ", so nothing is delivered to it until it sends another.",
                next: ["Have the client refresh its token before it expires."])
        }
        let stalled = sessions.filter(\.isStalled)
        if stalled.count == sessions.count, let session = stalled.first {
            return WhyVerdict(
                .clientStalled,
                "The client of the session \(session.session) does not read: \(session.pendingBytes) bytes wait for it"
                    + (session.queuedResults > 0 ? ", and then newer results." : "."),
                next: [WhyCommand.endSession(session.session)])
        }
        let draining = facts.gateways.filter { gateway in
            gateway.isDraining && sessions.contains { $0.session.hasPrefix(gateway.node + "/") }
        }
        if let gateway = draining.first, sessions.allSatisfy({ $0.session.hasPrefix(gateway.node + "/") }) {
            return WhyVerdict(
                .nodeDrained, "The node \(gateway.node) is drained: its sessions are asked to reconnect elsewhere.",
                next: [WhyCommand.text("undrain", gateway.node)])
        }
        return nil
    }

    // MARK: The owner

    private static func ofOwner(_ facts: WhyFacts) -> WhyVerdict? {
        guard let owner = facts.owner else {
            guard let shard = facts.shard else { return nil }
            guard let name = shard.owner else {
                return WhyVerdict(
                    .noOwner,
                    "The shard \(shard.number) has no owner"
                        + (shard.wanted.map { "; \($0) should take it" } ?? ", because there is no worker") + ".",
                    next: ["freshet admin nodes", "freshet admin shards", "Start a node with the role worker."])
            }
            if !shard.isOwnerDrained, let stuck = ofMarkers(of: shard.number, owner: name, facts) { return stuck }
            if facts.unreachable.contains(name) {
                return WhyVerdict(
                    .unknown, "The owner of the shard, \(name), does not answer on its admin port.",
                    next: ["freshet admin nodes"])
            }
            if shard.isOwnerDrained {
                return WhyVerdict(
                    .nodeDrained, "The owner of the shard, \(name), is drained, and hands the shard over.",
                    next: ["freshet admin shards"])
            }
            return WhyVerdict(
                .refreshPending, "The owner, \(name), has not registered the live query yet.",
                next: ["Ask again in a few seconds."])
        }
        if owner.phase == "running", owner.runningForMs >= slowMs {
            let time = ago(owner.runningForMs)
            if let server = owner.waitsFor.first(where: { $0 != "embeddings" }) {
                return WhyVerdict(
                    .resolverHangs, "A run on \(owner.node) has waited for the custom resolver \(server) for \(time).",
                    next: ["Look at the resolver's server."])
            }
            return WhyVerdict(
                .runSlow, "A run on \(owner.node) has been in flight for \(time).",
                next: ["Look at its SQL and plan: Operations in the console, or freshet admin plan."])
        }
        if owner.failures > 0 {
            return WhyVerdict(
                .runFailing,
                "The last \(owner.failures == 1 ? "run" : "\(owner.failures) runs") on \(owner.node) failed: "
                    + "\(owner.lastError ?? "the result did not reach a gateway").",
                next: ["The node's log has the cause."])
        }
        return nil
    }

    /// - Returns: nil if the markers of the shard arrive.
    static func ofMarkers(of shard: Int, owner: String, _ facts: WhyFacts) -> WhyVerdict? {
        let lateMs = facts.gateways.map(\.markerLateMs).max() ?? 0
        guard lateMs > 0 else { return nil }
        return WhyVerdict(
            .shardStuck,
            "No marker has come through the shard \(shard) for \(ago(lateMs)), so changes may not either; its owner is "
                + "\(owner).", next: ["freshet admin status", "Look at the log of \(owner)."])
    }

    // MARK: The database

    private static func ofDatabase(_ facts: WhyFacts) -> WhyVerdict? {
        switch facts.truth {
        case .notRun:
            return WhyVerdict(
                .unknown, "The query was not run, so it is not known whether the screen is stale.",
                next: ["Have the query run: without truth=no, in the terminal without --no-run."])
        case .failed(let error):
            return WhyVerdict(
                .runFailing, "The query fails now: \(error).", next: ["The node's log has the cause."])
        case .timedOut(let afterMs):
            if let server = facts.owner?.waitsFor.first(where: { $0 != "embeddings" }) {
                return WhyVerdict(
                    .resolverHangs,
                    "The query did not end within \(ago(afterMs)); it calls the custom resolver \(server).",
                    next: ["Look at the resolver's server."])
            }
            return WhyVerdict(.runSlow, "The query did not end within \(ago(afterMs)).")
        case .answered(let digest): return ofComparison(digest, facts)
        }
    }

    private static func ofComparison(_ truth: String, _ facts: WhyFacts) -> WhyVerdict? {
        let nodes = Set(facts.sessions.map { $0.session.split(separator: "/").first.map(String.init) ?? "" })
        let gateways = facts.gateways.filter { nodes.contains($0.node) }
        guard gateways.allSatisfy({ $0.digest == truth }) else { return nil }
        if let behind = facts.sessions.first(where: { $0.digest != truth }) {
            return WhyVerdict(
                .deliveryPending,
                "The gateway has what the database answers; the session \(behind.session) was not sent it yet.",
                next: ["Ask again in a few seconds."])
        }
        guard facts.isCurrentVersion else {
            return WhyVerdict(
                .otherVersion,
                "The session follows the query of a former version of the project; that result is what the database "
                    + "answers.",
                next: ["Have the client reconnect to get the current version."])
        }
        return WhyVerdict(
            .fresh, "The screen is fresh: what the gateways hold and sent is what the database answers now.")
    }
}
