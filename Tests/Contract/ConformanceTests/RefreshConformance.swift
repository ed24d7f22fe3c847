import Catalog
import CEL
import JSON
import LiveModel
import Operations
import QuerySQL
import Refresh
import TestSupport
import SchemaModel
import Testing

/// The vectors in `conformance/refresh`, read in place: from the text of a schema and its operations through the
/// catalog to the rule index. Nothing of them is skipped.
@Suite struct RefreshConformance {
    @Test(.vectors("refresh/cases.jsonl")) func mutationsRefreshWhatTheVectorsSay() throws {
        let cases = try ConformanceVectors.lines(of: "refresh/cases.jsonl").map { try JSONParser.parse($0) }
        var failures: [String] = []
        for vector in cases {
            if let failure = try Case(vector).failure() {
                failures.append("\(vector["id"]?.stringValue ?? "?"): \(failure)")
            }
        }
        print("Refresh conformance: \(cases.count - failures.count) passed, \(failures.count) failed of \(cases.count)")
        #expect(failures == [])
    }
}

/// One subscriber, one mutation, and whether the query must run again.
private struct Case {
    private struct Side {
        let reference: OperationReference
        let variables: JSONObject
        let auth: Auth?

        init(_ json: JSONValue) throws {
            reference = OperationReference(
                connector: try #require(json["connector"]?.stringValue),
                operation: try #require(json["operation"]?.stringValue))
            variables = json["variables"]?.objectValue ?? JSONObject()
            auth = json["auth"]?.objectValue.map {
                Auth(uid: $0["uid"]?.stringValue ?? "", token: $0["token"]?.objectValue ?? JSONObject())
            }
        }
    }

    private let vector: JSONValue
    private let expect: JSONObject

    init(_ vector: JSONValue) throws {
        self.vector = vector
        expect = try #require(vector["expect"]?.objectValue)
    }

    /// The first mistake, nil if there is none.
    func failure() throws -> String? {
        let catalog: Catalog
        do {
            catalog = try Catalog.compile(try project())
        } catch let error as CatalogError {
            return expect["may_reject"]?.boolValue == true ? nil : "refused: \(error.diagnostics.map(\.message))"
        }
        do {
            return try outcome(catalog)
        } catch let error as RequestError {
            return "\(error.code.rawValue): \(error.message)"
        }
    }

    private func project() throws -> Project {
        let schema = try #require(vector["schema"]?.stringValue)
        let connectors = try #require(vector["connectors"]?.objectValue)
        return Project(
            serviceID: "s", schemaFiles: [SourceFile(path: "schema.gql", text: schema)],
            connectors: connectors.entries.map { entry in
                ConnectorSource(
                    id: entry.key,
                    files: [SourceFile(path: "\(entry.key)/operations.gql", text: entry.value.stringValue ?? "")])
            })
    }

    private func outcome(_ catalog: Catalog) throws -> String? {
        let subscriber = try Side(try #require(vector["subscriber"]))
        let mutation = try Side(try #require(vector["mutation"]))
        let query = try #require(catalog.operation(subscriber.reference), "no such query")
        let live = LiveQuery(
            operation: query.reference, version: query.version, variables: try query.coerce(subscriber.variables),
            auth: query.authReads.project(subscriber.auth))
        var index = RuleIndex()
        index.insert(1, rules: try query.queryRules(of: live))

        var matches: RuleIndex.Matches?
        if vector["mutation"]?["outcome"]?.stringValue == "ok" {
            let written = try #require(catalog.operation(mutation.reference), "no such mutation")
            let found = index.match(try event(written, mutation, catalog))
            matches = found
            if !found.live.isEmpty, !catalog.queriesRefreshed(by: mutation.reference).contains(query.reference) {
                return "the event would not reach the query's shard"
            }
        }
        let by: String =
            switch matches?.live.first?.causes.kinds {
            case nil: "none"
            case [.implicit, .trigger]?: "both"
            case .implicit?: "implicit"
            default: "onMutationExecuted"
            }
        let errors = Int64(matches?.conditionErrors.values.reduce(0, +) ?? 0)
        var wrong: [String] = []
        let refreshes = matches?.live.isEmpty == false
        if expect["refresh"]?.boolValue != refreshes { wrong.append("refresh is \(refreshes)") }
        if expect["by"]?.stringValue != by { wrong.append("by \(by), expected \(expect["by"]?.stringValue ?? "?")") }
        if expect["condition_errors"]?.intValue ?? 0 != errors { wrong.append("\(errors) condition errors") }
        return wrong.isEmpty ? nil : wrong.joined(separator: ", ")
    }

    /// Builds an event as an API node does: with as much of auth as conditions on this mutation read.
    private func event(_ operation: StoredOperation, _ side: Side, _ catalog: Catalog) throws -> MutationEvent {
        let variables = try operation.coerce(side.variables)
        var generated = 0
        let call = try operation.mutationCall(variables: variables, auth: side.auth, nowMs: 1_700_000_000_000) {
            generated += 1
            return "0000000000004000800000000000" + String(generated + 4_096, radix: 16)
        }
        let authReads = catalog.authReadsOfConditions(on: operation.reference)
        return MutationEvent(
            id: "e", operation: operation.reference, variables: variables,
            auth: authReads.project(side.auth) ?? .null, authParts: authReads,
            keysWritten: call.keysWritten, traceID: "t", committedAtMs: 1)
    }
}
