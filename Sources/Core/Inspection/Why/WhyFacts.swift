package import JSON

/// Everything that was gathered about one live query: the question, what the catalogs say, and what nodes, Redis and
/// Postgres report.
package struct WhyFacts: Sendable {
    /// Why the question leads to no live query.
    package struct Refusal: Sendable, Hashable {
        package enum Kind: Sendable {
            case operationUnknown, variablesInvalid, authRefused
        }

        package let kind: Kind
        package let message: String
        /// The expression of `@auth` that refuses.
        package let rule: String?

        package init(_ kind: Kind, _ message: String, rule: String? = nil) {
            self.kind = kind
            self.message = message
            self.rule = rule
        }
    }

    /// The answer of the database now.
    package enum Truth: Sendable, Hashable {
        case notRun
        case answered(digest: String)
        case failed(String)
        case timedOut(afterMs: Int64)

        package var digest: String? { if case .answered(let digest) = self { digest } else { nil } }
    }

    /// The shard of the live query.
    package struct Shard: Sendable, Hashable {
        package var number: Int
        /// The node that holds the lease; nil: none.
        package var owner: String?
        /// The node that should hold it; nil: there is no worker.
        package var wanted: String?
        package var isOwnerDrained = false
        /// The last entry of its events stream.
        package var lastEventID: String?

        package init(number: Int, owner: String?, wanted: String?) {
            self.number = number
            self.owner = owner
            self.wanted = wanted
        }
    }

    /// A mutation that writes what the query reads, and that no rule of the query names.
    package struct MissingRule: Sendable, Hashable {
        package let mutation: String
        package let tables: [String]
        /// The rule that would notice it.
        package let rule: String

        package init(mutation: String, tables: [String], rule: String) {
            self.mutation = mutation
            self.tables = tables
            self.rule = rule
        }

        package var json: JSONValue {
            [
                "mutation": .string(mutation), "tables": .array(tables.map(JSONValue.string)),
                "rule": .string(rule),
            ]
        }
    }

    package var nowMs: Int64
    package var operation = ""
    package var refusal: Refusal?
    /// The session asked about, `NODE/ID`.
    package var askedSession: String?
    /// Whether a node has that session.
    package var isSessionKnown = false
    /// The live queries of that session, if the question does not tell which one.
    package var choices = 0
    /// The user asked about; nil: any.
    package var askedUid: String?
    /// Whether that user is revoked.
    package var isUserRevoked = false
    package var isCurrentVersion = true
    /// Whether changes are noticed by the database's log.
    package var readsLog = false
    /// The problem of the replication slot; nil if nothing is.
    package var slotProblem: String?
    package var truth = Truth.notRun
    package var owner: OwnerReport?
    package var shard: Shard?
    package var gateways: [GatewayReport] = []
    /// The newest first.
    package var events: [EventVerdict] = []
    package var ended: [EndRecord] = []
    package var covered: [String] = []
    package var missing: [MissingRule] = []
    /// When nodes with the role api last executed a mutation since their starts, in milliseconds since 1970.
    package var executions: [String: Int64] = [:]
    /// Whether all of these nodes answered.
    package var areExecutionsKnown = false
    package var drained: Set<String> = []
    package var unreachable: [String] = []

    package init(nowMs: Int64) {
        self.nowMs = nowMs
    }

    /// The sessions in question.
    var sessions: [SessionReport] {
        let all = gateways.flatMap(\.sessions)
        if let askedSession { return all.filter { $0.session == askedSession } }
        if let askedUid { return all.filter { $0.uid == askedUid } }
        return all
    }

    /// The end of a subscription in question that was recorded last.
    var lastEnd: EndRecord? {
        ended.filter { end in
            askedSession.map { $0 == end.session } ?? askedUid.map { $0 == end.uid } ?? true
        }.max { $0.atMs < $1.atMs }
    }

    /// The node of the session asked about.
    var askedNode: String? { askedSession?.split(separator: "/").first.map(String.init) }
}

extension WhyFacts {
    /// Whether a gateway lacks what the database answers, but its owner has it or is about to read it.
    package static func isOnItsWay(_ truth: String, from owner: OwnerReport?, to gateways: [GatewayReport]) -> Bool {
        guard let owner, gateways.contains(where: { $0.digest != truth }) else { return false }
        return owner.isPending || owner.digest == truth
    }
}
