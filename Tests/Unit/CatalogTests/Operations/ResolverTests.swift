import Catalog
import DeploymentPlan
import JSON
import LiveModel
import Operations
import QuerySQL
import SchemaModel
import SchemaSDL
import Testing

@Suite struct ResolverTests {
    static let schema = """
        enum Mood { GLAD SAD }
        input Filter { text: String! moods: [Mood!] limit: Int = 10 }
        type Profile { id: ID! name: String friends(first: Int! = 5): [Profile!]! novel: String mood: Mood }
        type Query {
          profile(id: ID!, locale: String = "en"): Profile
          search(filter: Filter!): [Profile!]!
          clock: Timestamp
        }
        type Mutation { rename(id: ID!, name: String!): Profile }
        """

    private static func project(_ operations: String, _ resolver: String = schema, id: String = "people") -> Project {
        Project(
            serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: CatalogHarness.schema)],
            resolvers: [
                ResolverSource(
                    endpoint: ResolverEndpoint(id: id, uri: "http://localhost:1/g", timeoutMs: 500),
                    files: [SourceFile(path: "people.gql", text: resolver)])
            ], connectors: [ConnectorSource(id: "main", files: [SourceFile(path: "main.gql", text: operations)])])
    }

    private func compile(_ text: String) throws -> StoredOperation {
        let catalog = try Catalog.compile(Self.project(text))
        return try #require(catalog.connectors["main"]?.operations.values.first)
    }

    private func bodies(_ text: String, _ variables: String = "{}") throws -> [String] {
        let operation = try compile(text)
        return operation.remoteCalls(variables: try operation.coerce(try CatalogHarness.object(variables))).map {
            String(decoding: $0.body, as: UTF8.self)
        }
    }

    // MARK: Requests

    @Test func aFieldBecomesARequest() throws {
        #expect(
            try bodies(
                """
                query Q($id: UUID!, $n: Int) @auth(level: USER) {
                  p: profile(id: $id) { n: name ...F friends(first: $n) { __typename id } }
                }
                fragment F on Profile { mood }
                """,
                #"{"id": "6f1c2d3e00004000800000000000000a", "n": 2}"#
            ) == [
                """
                {"query":"query($a0: ID!, $a1: Int) { p: profile(id: $a0) { n: name mood friends(first: $a1) { \
                __typename id } } }","variables":{"a0":"6f1c2d3e00004000800000000000000a","a1":2}}
                """
            ])
    }

    @Test func argumentsThatWereNotSentAreOmitted() throws {
        let query =
            """
            query Q($l: String, $m: String!, $no: Boolean!) @auth(level: USER) {
              profile(id: 7, locale: $l) { name @skip(if: $no) }
              search(filter: {text: $m, moods: GLAD}) @include(if: $no) { id }
            }
            """
        #expect(
            try bodies(query, #"{"m": "x", "no": false}"#) == [
                """
                {"query":"query($a0: ID!, $a1: String) { profile(id: $a0, locale: $a1) { name @include(if: $a2) } }",\
                "variables":{"a0":"7","a2":true}}
                """
                .replacing("$a1: String)", with: "$a1: String, $a2: Boolean!)")
            ])
        #expect(
            try bodies(query, #"{"m": "x", "l": "de", "no": true}"#).last
                == """
                {"query":"query($a0: Filter!) { search(filter: $a0) { id } }","variables":{"a0":{"text":"x",\
                "moods":["GLAD"]}}}
                """
        )
    }

    @Test func mutationsRunStepByStep() throws {
        let operation = try compile(
            """
            mutation M($id: String!) @auth(level: USER) {
              user_upsert(data: {id: $id})
              rename(id: $id, name: "n") { name @check(expr: "this != null", message: "nobody") }
            }
            """
        )
        #expect(operation.isStepwise)
        var run = operation.mutationRun(variables: ["id": "a"], auth: nil, nowMs: 0, makeUUID: { "" })
        #expect(run.remoteCall(0) == nil)
        let call = try #require(run.remoteCall(1))
        #expect(
            String(decoding: call.body, as: UTF8.self)
                == """
                {"query":"mutation($a0: ID!, $a1: String!) { rename(id: $a0, name: $a1) { name } }",\
                "variables":{"a0":"a","a1":"n"}}
                """
        )
        #expect(throws: RequestError(.permissionDenied, "nobody", path: [.key("rename"), .key("name")])) {
            _ = try run.accept(1, Array(#"{"name":null}"#.utf8))
        }
    }

    @Test func otherEndpointsAreOtherVersions() throws {
        let text = "query Q @auth(level: USER) { clock }"
        let versions = try ["people", "others"].map { id in
            let catalog = try Catalog.compile(Self.project(text, id: id))
            return try #require(catalog.connectors["main"]?.operations["Q"]).version
        }
        #expect(versions[0] != versions[1])
        let archive = ProjectArchive(Self.project(text))
        let stored = try ProjectArchive(parsing: archive.text)
        #expect(stored.version == archive.version)
        #expect(stored.project.resolvers.map(\.endpoint) == Self.project(text).resolvers.map(\.endpoint))
        #expect(
            try Catalog.compile(stored.project).graphQLSchema.text.contains("rename(id: ID!, name: String!): Profile"))
    }

    // MARK: Answers

    private func value(_ answer: String, status: Int = 200) throws(RequestError) -> String {
        guard
            let call = try? compile("query Q @auth(level: USER) { p: profile(id: 1) { name } }")
                .remoteCalls(variables: JSONObject()).first
        else { return "" }
        return String(decoding: try call.value(status: status, answer: Array(answer.utf8)), as: UTF8.self)
    }

    @Test func resolverResponsesBecomeValues() throws {
        #expect(try value(#"{"data": {"p": {"name": "é", "n": 1.50}}}"#) == #"{"name":"é","n":1.5}"#)
        #expect(try value(#"{"data": {"p": null}}"#) == "null")
    }

    @Test(arguments: [
        ("", 200, "sent a response that is not JSON", ["p"]),
        ("<html>", 503, "responded with HTTP status 503", ["p"]),
        (#"{"data": {"q": 1}}"#, 200, "omitted its field from the response", ["p"]),
        (#"{"data": {"p": 1}}"#, 500, "responded with HTTP status 500", ["p"]),
        (#"{"errors": [{"message": "no"}]}"#, 400, "failed: no", ["p"]),
        (
            #"{"data": {"p": null}, "errors": [{"message": "no", "path": ["p", 0, "name"]}]}"#, 200, "failed: no",
            ["p", "0", "name"]
        ),
        (#"{"data": {"p": null}, "errors": [{"message": "no", "path": ["other"]}]}"#, 200, "failed: no", ["p"]),
    ])
    func badResolverResponsesAreErrorsWithPaths(answer: String, status: Int, message: String, path: [String]) {
        let expected = RequestError(
            .resolverFailed, "the custom resolver \"people\" \(message)",
            path: path.map { step in Int(step).map { .index($0) } ?? .key(step) })
        #expect(throws: expected) { try value(answer, status: status) }
    }

    @Test func valuesTakeTheirPlaces() {
        let merged = RemoteResults.merge(
            Array(#"{"a":[{"b":null}], "b" : null,"c":"}","d":null}"#.utf8),
            ["b": Array(#"{"x":1}"#.utf8), "d": Array("2".utf8)])
        #expect(String(decoding: merged, as: UTF8.self) == #"{"a":[{"b":null}],"b":{"x":1},"c":"}","d":2}"#)
        #expect(RemoteResults.merge(Array("{}".utf8), [:]) == Array("{}".utf8))
    }

    // MARK: Mistakes

    private func errors(_ operations: String, _ resolver: String = schema) -> [String] {
        do throws(CatalogError) {
            _ = try Catalog.compile(Self.project(operations, resolver))
            return []
        } catch {
            return error.diagnostics.filter { $0.severity == .error }.map {
                "\($0.file):\($0.line):\($0.column) \($0.rule): \($0.message)" + ($0.help.map { " [\($0)]" } ?? "")
            }
        }
    }

    @Test(arguments: [
        ("{ profile { name } }", #"1:29 missing-argument: "profile" needs the argument "id""#),
        (
            "{ profile(id: 1) }",
            #"1:29 missing-selection: "profile" returns Profile and needs a selection: profile { … }"#
        ),
        ("{ clock { x } }", #"1:35 unexpected-selection: "clock" returns Timestamp, which has no fields to select"#),
        ("{ profile(id: 1) { nam } }", #"1:46 unknown-field: "Profile" has no field "nam" [did you mean "name"?]"#),
        (
            "{ profile(idd: 1) { name } }",
            #"1:37 unknown-argument: "profile" has no argument "idd" [did you mean "id"?]"#
        ),
        ("{ profile(id: null) { name } }", "1:41 value-type: expected ID!, found null"),
        ("{ profile(id: true) { name } }", "1:41 value-type: expected an ID: a string or an integer"),
        ("{ search(filter: {}) { name } }", "1:44 value-type: Filter needs \"text\""),
        (
            #"{ search(filter: {text: "x", moods: [GLADD]}) { name } }"#,
            #"1:64 value-type: expected a value of Mood [did you mean "GLAD"?]"#
        ),
    ])
    func mistakesInOperationsAreReported(selection: String, problem: String) {
        let found = errors("query Q @auth(level:USER) " + selection)
        #expect(found.contains("main.gql:" + problem), "\(found)")
    }

    @Test func variablesMustFit() {
        #expect(
            errors("query Q($id: Boolean!) @auth(level: USER) { profile(id: $id) { name } }").first
                == "main.gql:1:57 variable-position: \"$id\" of type Boolean! cannot be used where ID! is expected")
        #expect(
            errors("query Q($id: UUID) @auth(level: USER) { profile(id: $id) { name } }").first?
                .contains("variable-position") == true)
        #expect(
            errors(
                """
                query Q($id: UUID = "6f1c2d3e-0000-4000-8000-00000000000a") @auth(level: USER) {
                  profile(id: $id) { name }
                }
                """
            ) == [])
    }

    @Test func remoteFieldsAreRefusedWhereTheyCannotBeUndone() {
        #expect(
            errors("mutation M @auth(level: USER) @transaction { rename(id: 1, name: \"n\") { id } }").first?
                .hasPrefix("main.gql:1:31 custom-resolver: @transaction cannot roll back") == true)
        #expect(
            errors("mutation M @auth(level: USER) { query { clock } }").first?.contains("custom-resolver") == true)
        let many = (0...16).map { "c\($0): clock" }.joined(separator: " ")
        #expect(errors("query Q @auth(level: USER) { \(many) }").first?.contains("at most 16 fields") == true)
    }

    @Test(arguments: [
        (
            "type Query { novel: String }",
            """
            1:14 root-field-clash: field "novel" already exists in Query or Mutation [names of other root fields, \
            and names that begin with _, cannot be used]
            """
        ),
        (
            "type Novel { id: ID } type Query { m: Novel }",
            #"1:6 unique-type: type "Novel" already exists in this schema, in another one, or generated from a table"#
        ),
        (
            "type Query { m: Novel }",
            #"1:17 unknown-type: unknown type "Novel" [fields of a custom resolver cannot refer to tables]"#
        ),
        (
            "type A { b: Strin } type Query { a: A }",
            #"1:13 unknown-type: unknown type "Strin" [did you mean "String"?]"#
        ),
        ("type A @table { b: String }", "1:6 definition-not-offered: table directives are not supported here"),
        ("interface I { b: String }", "1:11 definition-not-offered: interfaces are not supported"),
        (
            "type Query { a: Int @auth }",
            "1:21 unknown-directive: @auth is not supported in the schema of a custom resolver"
        ),
        ("scalar Url", "1:8 definition-not-offered: custom scalars are not supported: use Any for arbitrary JSON"),
    ])
    func mistakesInSchemasAreReported(text: String, problem: String) {
        let found = errors("query Q @auth(level: USER) { __typename }", text)
        #expect(found.first == "people.gql:" + problem)
    }
}
