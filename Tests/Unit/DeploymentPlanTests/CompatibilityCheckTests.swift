import Catalog
import DeploymentPlan
import LibrarySchema
import SchemaModel
import Testing

/// Changes that a new version may make under clients of the former one.
struct CompatibilityCheckTests {
    private static let old = """
        query List($genre: Genre, $limit: Int! = 10) @auth(level: USER)
          @refresh(onMutationExecuted: {operation: "Rate"}) {
          novels(where: {genre: {eq: $genre}}, limit: $limit) { id title remarks_on_novel { stars } }
        }
        query One($id: UUID!) @auth(expr: "auth.uid != nil") { novel(id: $id) { id title } }
        mutation Rate($id: UUID!, $rating: Float) @auth(level: PUBLIC, insecureReason: "test") {
          novel_update(id: $id, data: {rating: $rating})
        }
        """

    /// Compares after replacing one piece of text; `severity rule place` of each finding.
    private func findings(
        replacing text: String, by other: String, schema: (String, String)? = nil
    ) throws -> [String] {
        let operations = Self.old.replacingFirst(text, by: other)
        #expect(operations != Self.old || schema != nil, "the text to replace is not there")
        let newSchema = schema.map { LibrarySchema.compiled.replacingFirst($0.0, by: $0.1) } ?? LibrarySchema.compiled
        let project = Project(
            serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: newSchema)],
            connectors: [ConnectorSource(id: "main", files: [SourceFile(path: "main.gql", text: operations)])])
        return CompatibilityCheck.findings(
            from: try LibrarySchema.compile(["main": Self.old], schema: LibrarySchema.compiled),
            to: try Catalog.compile(project), project: project
        ).map { "\($0.severity) \($0.rule) \($0.file):\($0.line):\($0.column)" }
    }

    @Test func sameProjectHasNoFindings() throws {
        #expect(try findings(replacing: "query List", by: "query  List") == [])
    }

    @Test func additionsBreakNoClient() throws {
        let added = """
            query More @auth(level: PUBLIC, insecureReason: "test") { novels { id } }
            query One
            """
        #expect(try findings(replacing: "query One", by: added) == [])
        #expect(try findings(replacing: "$rating: Float)", by: "$rating: Float, $views: Int64)") == [])
        // A column more, of which no client knows.
        #expect(
            try findings(
                replacing: "", by: "", schema: ("printedYear: Int", "printedYear: Int\n          copies: Float")) == [])
    }

    @Test func removedOperationsAndChangedKindsBreakClients() throws {
        #expect(try findings(replacing: "query One", by: "query Other") == ["error operation-removed (project):0:0"])
        #expect(
            try findings(
                replacing: "query One($id: UUID!) @auth(expr: \"auth.uid != nil\") { novel(id: $id) { id title } }",
                by: "mutation One($id: UUID!) @auth(level: USER) { novel_delete(id: $id) }")
                == ["error operation-kind main.gql:5:10"])
    }

    @Test func newRequiredVariablesBreakClients() throws {
        #expect(
            try findings(
                replacing:
                    """
                    $rating: Float) @auth(level: PUBLIC, insecureReason: "test") {\n  novel_update(id: $id, \
                    data: {rating: $rating})
                    """,
                by: ") @auth(level: PUBLIC, insecureReason: \"test\") {\n  novel_update(id: $id, data: {rating: 1})")
                == ["error variable-removed main.gql:6:10", "warning operation-text main.gql:6:10"])
        #expect(
            try findings(replacing: "$rating: Float)", by: "$rating: Float!)")
                == ["error variable-required main.gql:6:10"])
        #expect(
            try findings(replacing: "$limit: Int! = 10", by: "$limit: Int!")
                == ["error variable-required main.gql:1:7"])
        // Null was refused, and a default made up for its absence.
        #expect(try findings(replacing: "$limit: Int! = 10", by: "$limit: Int = 10") == [])
        #expect(
            try findings(replacing: "$rating: Float)", by: "$rating: Float, $views: Int64!)")
                == ["error variable-required main.gql:6:10"])
    }

    @Test func changedVariableTypesBreakClients() throws {
        #expect(
            try findings(
                replacing:
                    """
                    $rating: Float) @auth(level: PUBLIC, insecureReason: "test") {\n  novel_update(id: $id, \
                    data: {rating: $rating})
                    """,
                by:
                    """
                    $rating: Int) @auth(level: PUBLIC, insecureReason: "test") {\n  novel_update(id: $id, \
                    data: {printedYear: $rating})
                    """
            )
                == ["error variable-type main.gql:6:10", "warning operation-text main.gql:6:10"])
        // A value of an enum that a variable could have.
        #expect(
            try findings(replacing: "", by: "", schema: ("NOIR FARCE EPIC", "NOIR EPIC"))
                == ["error variable-allowance main.gql:1:7"])
        #expect(try findings(replacing: "", by: "", schema: ("NOIR FARCE EPIC", "NOIR FARCE EPIC ODE")) == [])
    }

    @Test func stricterAuthorizationBreaksClients() throws {
        #expect(
            try findings(replacing: "@auth(level: USER)", by: "@auth(level: USER_EMAIL_VERIFIED)")
                == ["error auth-stricter main.gql:1:7"])
        #expect(
            try findings(replacing: "@auth(level: USER)", by: "@auth(level: USER_ANON)")
                == ["warning auth-looser main.gql:1:7"])
        // Nobody can tell what an expression lets through.
        #expect(
            try findings(replacing: "auth.uid != nil", by: "auth.uid == 'x'")
                == ["error auth-stricter main.gql:5:7"])
    }

    @Test func removedResultFieldsBreakClients() throws {
        #expect(
            try findings(replacing: "{ stars }", by: "{ stars text }")
                == ["warning operation-text main.gql:1:7"])
        #expect(
            try findings(replacing: "id title remarks", by: "id name: title remarks")
                == ["error result-field-removed main.gql:1:7", "warning operation-text main.gql:1:7"])
    }

    @Test func removedRefreshRulesAreWarnings() throws {
        #expect(
            try findings(replacing: "\n  @refresh(onMutationExecuted: {operation: \"Rate\"})", by: "")
                == ["warning refresh-removed main.gql:1:7"])
    }

    @Test func removedConnectorsAndAnotherServiceBreakClients() throws {
        let old = try LibrarySchema.compile(["main": Self.old, "second": Self.old], schema: LibrarySchema.compiled)
        let project = Project(
            serviceID: "other", schemaFiles: [SourceFile(path: "schema.gql", text: LibrarySchema.compiled)],
            connectors: [ConnectorSource(id: "main", files: [SourceFile(path: "main.gql", text: Self.old)])])
        let findings = CompatibilityCheck.findings(
            from: old, to: try Catalog.compile(project), project: project)
        #expect(findings.map(\.rule) == [.serviceChanged, .connectorRemoved])
    }
}

extension String {
    fileprivate func replacingFirst(_ text: String, by other: String) -> String {
        guard !text.isEmpty, let start = indices.first(where: { self[$0...].hasPrefix(text) }) else { return self }
        return self[..<start] + other + self[index(start, offsetBy: text.count)...]
    }
}
