import CEL
import JSON
import LiveModel
import Refresh
import Sharding

/// The stored operations of the simulated service: one mutation, and one query per way of being refreshed.
struct Workload: Sendable {
    static let shardCount = 5
    static let mutation = operation("Set")
    private static let version = Digest(of: [1])

    private let join: Program
    private let failing: Program
    /// The queries that the mutation can refresh.
    static let refreshed = ["Lookup", "Group", "All", "Mine", "Doubt"].map(operation)

    static func operation(_ name: String) -> OperationReference {
        OperationReference(connector: "c", operation: name)
    }

    init() throws {
        let environment = ConditionActivation.environment
        join = try environment.compile("request.variables.group == mutation.variables.group")
        failing = try environment.compile("mutation.variables.absent == 1")
    }

    static func query(_ name: String, _ variables: JSONObject = [:], auth: JSONValue? = nil) -> LiveQuery {
        LiveQuery(operation: operation(name), version: version, variables: variables, auth: auth)
    }

    static let queries: [LiveQuery] =
        ["e0", "e1", "e2"].map { query("Lookup", ["id": .string($0)]) }
        + ["a", "b"].map { query("Group", ["group": .string($0)]) }
        + ["u0", "u1"].map { query("Mine", auth: ["uid": .string($0)]) }
        + [query("All"), query("Doubt"), query("Timer")]

    static func place(of query: LiveQuery, by orders: Orders) -> ShardPlace {
        ShardMap.place(of: query, shardCount: shardCount, orders: orders)
    }

    static func eventShards(by orders: Orders, nowMs: Int64) -> [ShardID] {
        ShardMap.shards(of: refreshed, shardCount: shardCount, orders: orders, nowMs: nowMs)
    }

    func rules(of query: LiveQuery) -> QueryRules {
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
        case "Mine": rules.lookupKeys = [key(query.projectedAuth?.uid ?? "")]
        case "Group": rules.triggers = trigger(join)
        case "All": rules.triggers = trigger(nil)
        case "Doubt": rules.triggers = trigger(failing)
        default: rules.everyMs = 4_000
        }
        return rules
    }

    static func event(_ id: String, entity: String, nowMs: Int64) -> MutationEvent {
        MutationEvent(
            id: id, operation: mutation,
            variables: ["id": .string(entity), "group": .string(SimulatedDatabase.group(of: entity))], auth: .null,
            keysWritten: [EntityKey(table: "entity", values: [.string(entity)])], traceID: id, committedAtMs: nowMs)
    }
}
