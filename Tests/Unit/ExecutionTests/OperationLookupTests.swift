import Catalog
import Execution
import JSON
import LiveModel
import Operations
import SchemaModel
import Testing

/// Which stored operation a request means: by name, by text, by the digest of the stored text, in one connector or
/// several.
@Suite struct OperationLookupTests {
    private static let queries = """
        query Novels($n: Int) @auth(level: PUBLIC) { novels(limit: $n) { id ...Parts } }
        fragment Parts on Novel { title narrator { name } }
        query People @auth(level: PUBLIC) { people { id name } }
        """
    private static let others = """
        query Novels($n: Int) @auth(level: PUBLIC) { novels(limit: $n) { id } }
        query Same @auth(level: PUBLIC) { people { name } }
        query Twin @auth(level: PUBLIC) { people { name } }
        mutation Add @auth(level: PUBLIC) { person_insert(data: {name: "x"}) }
        """
    private static let schema = """
        type Person @table { name: String! }
        type Novel @table { title: String! narrator: Person }
        """

    private func lookup(_ connectors: [String: String] = ["a": queries, "b": others]) throws -> OperationLookup {
        OperationLookup(
            catalog: try Catalog.compile(
                Project(
                    serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: Self.schema)],
                    connectors: connectors.sorted { $0.key < $1.key }.map {
                        ConnectorSource(id: $0.key, files: [SourceFile(path: "\($0.key).gql", text: $0.value)])
                    })), version: Digest(of: "test".utf8))
    }

    private func resolve(
        _ lookup: OperationLookup, connector: String? = nil, name: String? = nil, text: String? = nil,
        digest: Digest? = nil, auth: Auth? = nil, kinds: AllowedKinds = .all
    ) throws -> String {
        let resolved = try lookup.resolve(
            connector: connector, name: name, document: text, digest: digest, variables: JSONObject(), auth: auth,
            nowMs: 0, kinds: kinds)
        return "\(resolved.operation.reference) \(resolved.wantedKind.map(\.rawValue) ?? "-")"
    }

    private func code(_ body: () throws -> String) -> String {
        do {
            return try body()
        } catch let error as RequestError {
            return error.code.rawValue
        } catch {
            return "\(error)"
        }
    }

    private func reference(_ connector: String, _ operation: String) -> String {
        OperationReference(connector: connector, operation: operation).description
    }

    @Test func aNameInOneConnectorNeedsNoConnector() throws {
        let lookup = try lookup()
        #expect(try resolve(lookup, name: "People") == reference("a", "People") + " -")
        #expect(try resolve(lookup, connector: "b", name: "Novels") == reference("b", "Novels") + " -")
        #expect(code { try resolve(lookup, name: "Novels") } == "BAD_REQUEST", "it is in both")
        #expect(code { try resolve(lookup, name: "Nothing") } == "OPERATION_NOT_FOUND")
        #expect(code { try resolve(lookup, connector: "c", name: "People") } == "OPERATION_NOT_FOUND")
    }

    @Test(arguments: [
        "query People { people { id name } }", "subscription People { people { id name } }",
        "{ people { id, name } }", "subscription { people { id name } }",
        "subscription OnPeople{people{id name}} # mine",
    ])
    func layoutNameAndKeywordDoNotCount(text: String) throws {
        let kind = text.hasPrefix("subscription") ? "subscription" : "query"
        #expect(try resolve(try lookup(), text: text) == reference("a", "People") + " " + kind)
    }

    @Test(arguments: [
        "query People { people { name id } }", "query People { people { id } }",
        "query People { all: people { id name } }",
        "subscription P { ...All } fragment All on Query { people { id name } }",
        "query People { people(limit: 1) { id name } }", "query People { people @skip(if: false) { id name } }",
    ])
    func otherSelectionsAreRefused(text: String) throws {
        let lookup = try lookup()
        #expect(code { try resolve(lookup, text: text) } == "OPERATION_NOT_FOUND")
    }

    /// Client libraries add `__typename`, and generators leave out what the server alone acts on.
    @Test(arguments: [
        "query Guarded { people { id name } }", "{ people { id name __typename } __typename }",
        "{ people { id name @redact } }", #"{ people @check(expr: "false", message: "other") { __typename id name } }"#,
    ])
    func directivesOfTheServerAndTypenameDoNotCount(text: String) throws {
        let stored = """
            query Guarded @auth(level: PUBLIC) {
              people @check(expr: "this.size() > 0", message: "no") { id name @redact }
            }
            """
        #expect(try resolve(try lookup(["a": stored]), text: text) == reference("a", "Guarded") + " query")
    }

    @Test func exactSelectionsComeFirst() throws {
        let lookup = try lookup([
            "a": """
            query Plain @auth(level: PUBLIC) { people { id } }
            query Named @auth(level: PUBLIC) { people { id __typename } }
            """
        ])
        #expect(try resolve(lookup, text: "{ people { id } }") == reference("a", "Plain") + " query")
        #expect(try resolve(lookup, text: "{ people { id __typename } }") == reference("a", "Named") + " query")
        #expect(code { try resolve(lookup, text: "{ people { __typename id } }") } == "BAD_REQUEST", "either")
    }

    @Test func fragmentsAreComparedByWhatTheyHold() throws {
        let lookup = try lookup()
        let text =
            "fragment Parts on Novel { title narrator { name } } query M($n: Int) { novels(limit: $n) { id ...Parts } }"
        #expect(try resolve(lookup, text: text) == reference("a", "Novels") + " query")
        let other = text.replacing("{ title narrator", with: "{ narrator")
        #expect(code { try resolve(lookup, text: other) } == "OPERATION_NOT_FOUND")
    }

    @Test func selectionsThatSeveralHaveNeedAName() throws {
        let lookup = try lookup()
        #expect(code { try resolve(lookup, text: "{ people { name } }") } == "BAD_REQUEST")
        #expect(try resolve(lookup, text: "query Twin { people { name } }") == reference("b", "Twin") + " query")
    }

    @Test func aMutationIsCalledMutation() throws {
        let lookup = try lookup()
        let body = #" { person_insert(data: {name: "x"}) }"#
        #expect(try resolve(lookup, text: "mutation" + body) == reference("b", "Add") + " mutation")
        #expect(code { try resolve(lookup, text: "query" + body) } == "OPERATION_NOT_FOUND")
        #expect(code { try resolve(lookup, text: "query Add" + body, auth: ann) } == "BAD_REQUEST")
    }

    private let ann = Auth(uid: "ann", token: JSONObject())

    private func message(_ body: () throws -> String) -> String {
        do {
            return try body()
        } catch let error as RequestError {
            return error.message
        } catch {
            return "\(error)"
        }
    }

    @Test func aSenderWhoIsNotSignedInLearnsNoNames() throws {
        let lookup = try lookup()
        // Several operations have these selections.
        let several = "{ people { name } }"
        #expect(message { try resolve(lookup, text: several, auth: ann) }.contains("Twin"))
        #expect(!message { try resolve(lookup, text: several) }.contains("Twin"))
        // One has them, of another kind than is allowed.
        let mutation = #"mutation { person_insert(data: {name: "x"}) }"#
        #expect(message { try resolve(lookup, text: mutation, auth: ann, kinds: .only(.query)) }.contains("Add"))
        #expect(!message { try resolve(lookup, text: mutation, kinds: .only(.query)) }.contains("Add"))
        // A text that differs is answered as one whose name is not known.
        let differs = message { try resolve(lookup, text: "query People { people { id } }") }
        #expect(!differs.contains("People"))
        #expect(differs == message { try resolve(lookup, text: "query Nobody { people { id } }") })
        #expect(message { try resolve(lookup, text: "query People { people { id } }", auth: ann) }.contains("People"))
    }

    @Test func aDigestIsOfTheStoredText() throws {
        let lookup = try lookup()
        let stored = try #require(lookup.catalog.connectors["a"]?.operations["Novels"])
        let digest = Digest(of: stored.text.utf8)
        #expect(lookup.knows(digest) && !lookup.knows(Digest(of: "".utf8)))
        #expect(try resolve(lookup, digest: digest) == reference("a", "Novels") + " -")
        #expect(code { try resolve(lookup, name: "People", digest: digest) } == "BAD_REQUEST")
        #expect(code { try resolve(lookup, connector: "b", digest: digest) } == "OPERATION_NOT_FOUND")
        let text = "query People { people { id name } }"
        #expect(
            try resolve(lookup, text: text, digest: digest) == reference("a", "People") + " query", "the text decides"
        )
    }

    @Test func aTextHasOneOperationOfTheName() throws {
        let lookup = try lookup()
        let two = "query A { people { id name } } query B { people { id name } }"
        #expect(code { try resolve(lookup, text: two) } == "BAD_REQUEST")
        #expect(try resolve(lookup, name: "B", text: two) == reference("a", "People") + " query")
        #expect(code { try resolve(lookup, name: "C", text: two) } == "BAD_REQUEST")
        #expect(code { try resolve(lookup) } == "BAD_REQUEST")
    }

    @Test func administratorsRunWhatClientsMayNot() throws {
        let lookup = try lookup(["a": "query Hidden @auth(level: NO_ACCESS) { people { name } }"])
        #expect(code { try resolve(lookup, name: "Hidden") } == "PERMISSION_DENIED")
        let resolved = try lookup.resolve(
            connector: "a", name: "Hidden", document: nil, variables: JSONObject(), auth: nil, nowMs: 0,
            isAdministrator: true)
        #expect(resolved.operation.reference.operation == "Hidden")
    }
}
