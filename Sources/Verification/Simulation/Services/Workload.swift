import CEL
import JSON
import LiveModel
import Refresh
import RoleMachines
import Sharding

/// The stored operations of the simulated service: a mutation for most entities, one for the rare entity, and one query
/// for each kind of refresh. Every version of the project has its own version of them and, from the second on, an
/// additional query "Late…".
struct Workload: Sendable {
    static let shardCount = 5
    /// Writes all entities but the rare one.
    static let mutation = operation("Set")
    /// Writes the rare entity, and refreshes nothing by most versions.
    static let rareMutation = operation("SetRare")

    static func version(_ number: Int) -> Digest { versions[min(number, versions.count - 1)] }
    static func number(of version: Digest) -> Int {
        guard let number = versions.firstIndex(of: version) else { preconditionFailure("version \(version)") }
        return number
    }

    private static let versions = (0..<80).map { Digest(of: [UInt8($0)]) }

    private let join: Program
    private let failing: Program
    /// The queries of every version that the mutation can refresh.
    static let refreshed = ["Lookup", "Group", "All", "Mine", "Doubt", nested].map(operation)
    /// Returns the query that a version added. Its shard has no other refreshed query, including the previous
    /// version's, unless an operation is split.
    static func late(_ number: Int) -> OperationReference { lateQueries[min(number, lateQueries.count - 1)] }

    private static let lateQueries: [OperationReference] = (0..<80).map { number in
        let free = ShardID.all(count: shardCount).filter { shard in
            !refreshed.contains { ShardRouting.shard(of: $0, shardCount: shardCount) == shard }
        }
        precondition(free.count > 1, "versions have no shards of their own for their queries")
        let shard = free[number % free.count]
        let candidates = (0...).lazy.map { operation("Late\(number).\($0)") }
        return candidates.first { ShardRouting.shard(of: $0, shardCount: shardCount) == shard }!
    }
    /// The entity that the added queries read.
    static let lateEntity = "e3"
    /// A query of one entity and of another one below it, which the first one's version names. It has no rule: changes
    /// of the rows that it read refresh it.
    static let nested = "Nested"
    static let nestedParent = "e0"
    static func nestedChild(parentVersion: Int) -> String { parentVersion.isMultiple(of: 2) ? "u0" : "u1" }
    /// A query of entities that only others write. It refreshes by the database's log.
    static let outside = "Outside"
    static let outsideEntities = ["o0", "o1"]
    /// The entity that only the added queries of some versions read.
    static let rareEntity = "r0"

    static func readsRareEntity(_ number: Int) -> Bool { number > 1 && number.isMultiple(of: 2) }

    static func mutation(of entity: String) -> OperationReference { entity == rareEntity ? rareMutation : mutation }

    static func operation(_ name: String) -> OperationReference {
        OperationReference(connector: "c", operation: name)
    }

    init() throws {
        let environment = ConditionActivation.environment
        join = try environment.compile("request.variables.group == mutation.variables.group")
        failing = try environment.compile("mutation.variables.absent == 1")
    }

    /// A client's query, the same for every version.
    struct ClientQuery: Hashable {
        var operation: String
        var variables: JSONObject = [:]
        var uid: String?

        func isServed(by number: Int) -> Bool { number > 1 || operation != "Late" }

        func liveQuery(version number: Int) -> LiveQuery {
            LiveQuery(
                operation: operation == "Late" ? Workload.late(number) : Workload.operation(operation),
                version: Workload.version(number), variables: variables,
                auth: uid.map { ["uid": .string($0)] })
        }
    }

    static let users = ["u0", "u1", "u2", "u3"]

    static let clientQueries: [ClientQuery] =
        ["e0", "e1", "e2"].map { ClientQuery(operation: "Lookup", variables: ["id": .string($0)]) }
        + ["a", "b"].map { ClientQuery(operation: "Group", variables: ["group": .string($0)]) }
        + users.map { ClientQuery(operation: "Mine", uid: $0) }
        + ["All", "Doubt", "Timer", "Late", nested].map { ClientQuery(operation: $0) }

    /// A time after the grace period that follows a change of splits: correctness must not depend on that period.
    static let noGraceMs = Int64.max

    /// - Throws: `.unavailable` for a version that is not among the catalogs.
    func rules(of query: LiveQuery, _ catalogs: SimulatedCatalogs) throws(RequestError) -> QueryRules {
        guard catalogs.serves(query.version) else { throw .versionNotServed }
        func trigger(_ condition: Program?) -> [Trigger] {
            [
                Trigger(
                    id: .init(operation: query.operation, version: query.version, number: 0),
                    mutation: Self.mutation, condition: condition)
            ]
        }
        func key(_ id: String) -> EntityKey { EntityKey(table: "entity", values: [.string(id)]) }
        var rules = QueryRules(
            triggers: [], lookupKeys: [], everyMs: nil,
            request: .map(
                MapValue([
                    ("variables", Value(jsonObject: query.variables)), ("auth", Value(json: query.auth ?? .null)),
                ])))
        switch query.operation.operation {
        case "Lookup": rules.lookupKeys = [key(query.variables["id"]?.stringValue ?? "")]
        case let name where name.hasPrefix("Late"):
            rules.lookupKeys = [key(Self.lateEntity)]
            if Self.readsRareEntity(Self.number(of: query.version)) { rules.lookupKeys.append(key(Self.rareEntity)) }
        case "Mine": rules.lookupKeys = [key(query.projectedAuth?.uid ?? "")]
        case "Group": rules.triggers = trigger(join)
        case "All": rules.triggers = trigger(nil)
        case "Doubt": rules.triggers = trigger(failing)
        case Self.nested:
            func site(_ number: Int, guards: [String], bound: String?) -> RowSite {
                RowSite(
                    id: .init(operation: query.operation, version: query.version, number: number), table: "entity",
                    guardFields: guards, boundField: bound, fields: nil)
            }
            rules.automatic = AutomaticRules(
                sites: [
                    .init(form: site(0, guards: ["id"], bound: nil), values: [.one(Self.nestedParent)]),
                    .init(form: site(1, guards: [], bound: "id"), values: []),
                ], mayReadAnything: false)
        case Self.outside:
            rules.automatic = AutomaticRules(
                sites: [
                    .init(
                        form: RowSite(
                            id: .init(operation: query.operation, version: query.version, number: 0),
                            table: LogMessages.table, guardFields: [], fields: nil), values: [])
                ], mayReadAnything: false)
        default: rules.everyMs = 4_000
        }
        return rules
    }

    static func event(_ id: String, entity: String, nowMs: Int64) -> MutationEvent {
        MutationEvent(
            id: id, operation: mutation(of: entity),
            variables: ["id": .string(entity), "group": .string(SimulatedPostgres.group(of: entity))], auth: .null,
            keysWritten: [EntityKey(table: "entity", values: [.string(entity)])],
            rows: RowChanges([
                RowChange(table: "entity", before: ["id": .string(entity)], after: ["id": .string(entity)])
            ]), traceID: id, committedAtMs: nowMs)
    }
}

extension Workload {
    /// Returns what a run tells of the rows below those that it read; nil for a query without such rows.
    static func rowsRead(of query: LiveQuery, _ body: [UInt8]) -> [RowsRead]? {
        guard query.operation.operation == nested else { return nil }
        return [rowsRead(parentVersion: SimulatedPostgres.versions(in: body)[nestedParent] ?? 0)]
    }

    static func rowsRead(parentVersion: Int) -> RowsRead {
        RowsRead(bound: RowHashes(values: [nestedChild(parentVersion: parentVersion)]))
    }
}

extension LiveQuery {
    /// Returns the live query in that version of the project.
    func of(version number: Int) -> LiveQuery {
        LiveQuery(operation: operation, version: Workload.version(number), variables: variables, auth: auth)
    }
}
