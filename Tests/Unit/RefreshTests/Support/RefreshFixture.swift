import CEL
import JSON
import LiveModel
import Refresh

/// Small values with a meaning, so that a test names only what it is about.
enum RefreshFixture {
    static let version = Digest(of: [1])

    static func operation(_ name: String) -> OperationReference {
        OperationReference(connector: "c", operation: name)
    }

    static func query(_ name: String = "Q", _ variables: JSONObject = [:], auth: JSONValue? = nil) -> LiveQuery {
        LiveQuery(operation: operation(name), version: version, variables: variables, auth: auth)
    }

    static func trigger(
        _ condition: String?, of query: String = "Q", on mutation: String = "M", number: Int = 0
    ) throws -> Trigger {
        Trigger(
            id: .init(operation: operation(query), version: version, number: number), mutation: operation(mutation),
            condition: try condition.map { try ConditionActivation.environment.compile($0) })
    }

    static func request(_ variables: JSONObject, auth: JSONValue = .null) -> Value {
        .map(MapValue([("variables", Value(jsonObject: variables)), ("auth", Value(json: auth))]))
    }

    static func rules(
        _ triggers: [Trigger] = [], keys: [EntityKey] = [], everyMs: Int64? = nil, variables: JSONObject = [:],
        auth: JSONValue = .null
    ) -> QueryRules {
        QueryRules(triggers: triggers, lookupKeys: keys, everyMs: everyMs, request: request(variables, auth: auth))
    }

    static func key(_ id: String, table: String = "novel") -> EntityKey {
        EntityKey(table: table, values: [.string(id)])
    }

    static func event(
        _ mutation: String = "M", _ variables: JSONObject = [:], auth: JSONValue = .null, parts: AuthReads? = nil,
        keys: [EntityKey] = [], trace: String = "t", atMs: Int64 = 1
    ) -> MutationEvent {
        MutationEvent(
            id: "e", operation: operation(mutation), variables: variables, auth: auth, authParts: parts,
            keysWritten: keys, traceID: trace, committedAtMs: atMs)
    }

    /// An event whose publisher knew only conditions that read these paths below `auth`.
    static func event(
        _ mutation: String = "M", _ variables: JSONObject = [:], by writer: Auth?, parts paths: [[String]]
    ) -> MutationEvent {
        let parts = authReads(paths)
        return event(mutation, variables, auth: parts.project(writer) ?? .null, parts: parts)
    }

    static func authReads(_ paths: [[String]]) -> AuthReads {
        var reads = AuthReads.nothing
        for path in paths { reads.add(path: path) }
        return reads
    }

    static func id(_ ms: UInt64) -> StreamID { StreamID(ms: ms, sequence: 0) }

    static func digest(_ number: Int) -> Digest { Digest(of: "version \(number)".utf8) }

    static func result(_ number: Int) -> RunOutcome {
        .result(digest: digest(number), OperationAnswer(body: Array("{\"v\":\(number)}".utf8)))
    }
}

/// Paths of the collections inside `value` that hold something, for "nothing is left" tests. Structs are searched, too.
/// - Parameter fixed: arrays of a fixed number of structs.
func leftovers(in value: Any, except ignored: Set<String> = [], fixed: Set<String> = []) -> [String] {
    Mirror(reflecting: value).children.flatMap { child -> [String] in
        let label = child.label ?? "element"
        let mirror = Mirror(reflecting: child.value)
        switch mirror.displayStyle {
        case _ where ignored.contains(label): return []
        case .collection where !fixed.contains(label), .dictionary, .set:
            return mirror.children.isEmpty ? [] : [label]
        case .collection, .struct:
            return leftovers(in: child.value, except: ignored, fixed: fixed).map { "\(label).\($0)" }
        default: return []
        }
    }
}
