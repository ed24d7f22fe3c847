import Testing
@testable import Catalog
@testable import SchemaModel

/// Rules that no other table of fixtures has: the text, and between `«` and `»` the place that is reported.
@Suite struct RuleFixtureTests {
    static let schema =
        CatalogHarness.schema + """

            type Coded @table { code: String! @unique }
            type Coder @table { coded: Coded @ref(references: ["code"]) }
            type Doc @table { v: Vector @col(size: 3) }
            """

    private static let write = " mutation Write @auth(level: USER) { novel_deleteMany(all: true) }"

    static let fixtures = [
        Refusal(.auth, "query Q «@auth(level: USER, expr: \"true\")» { novels { id } }", "exactly one"),
        Refusal(.auth, "query Q @auth(level: USER) «@auth(level: PUBLIC)» { novels { id } }", "once"),
        Refusal(
            .refresh, "mutation M @auth(level: USER) «@refresh(every: {seconds: 30})» { novel_deleteMany(all: true) }",
            ""),
        Refusal(
            .refreshCondition,
            """
            query Q @auth(level: USER) @refresh(onMutationExecuted: {operation: "Write", condition: "«vars».id == 1"})
            """
                + " { novels { id } }" + write, ""),
        Refusal(
            .refreshInterval, "query Q @auth(level: USER) @refresh(every: «{seconds: 5}») { novels { id } }", ""),
        Refusal(
            .triggerTarget,
            "query Q @auth(level: USER) @refresh(onMutationExecuted: {operation: «\"R\"»}) { novels { id } }"
                + " query R @auth(level: USER) { novels { id } }", "is a query"),
        Refusal(
            .unknownMutation,
            "query Q @auth(level: USER) @refresh(onMutationExecuted: {operation: «\"Wrte\"»}) { novels { id } }"
                + write,
            "no mutation", help: "did you mean \"Write\"?"),
        Refusal(
            .referenceData,
            "mutation C($k: Coded_Key!) @auth(level: USER) { coder_insert(data: {coded: «$k»}) }", "primary key"),
        Refusal(
            .missingData, "mutation M @auth(level: USER) { novel_insert(data: «{printedYear: 1}») }",
            "\"Novel\" needs \"title\""),
        Refusal(
            .missingData, "mutation M @auth(level: USER) { remark_insert(data: «{text: \"x\"}») }", "needs \"novelId\"",
            help: "or novel: {…}"),
        Refusal(
            .missingData, "mutation M($t: String) @auth(level: USER) { novel_insert(data: «{title: $t}») }",
            "\"$t\" may be null", help: "String!"),
        Refusal(.defaultValue, "query Q($n: Int = -1) { novels(limit: «$n») { id } }", "negative"),
        Refusal(.defaultValue, "query Q($n: Int = -1) { novels(limit: 1, offset: «$n») { id } }", "negative"),
        Refusal(
            .embeddings, "query Q { docs_v_similarity(compare_embed: «{model: \"m\"}») { id } }", "needs \"text\""),
        Refusal(
            .embeddings, "query Q { docs_v_similarity(compare_embed: «{text: \"t\"}») { id } }", "needs \"model\""),
        Refusal(
            .embeddings, "query Q { docs_v_similarity(compare_embed: {model: «\"\"», text: \"t\"}) { id } }",
            "the name of a model"),
        Refusal(
            .embeddings,
            "query Q($m: String!) { docs_v_similarity(compare_embed: {model: «$m», text: \"t\"}) { id } }",
            "must be a literal"),
        Refusal(
            .embeddings,
            "query Q { docs_v_similarity(compare: [1], compare_embed: «{model: \"m\", text: \"t\"}») { id } }",
            "either"),
        Refusal(.operationName, "query «_Q» { novels { id } }", "reserved"),
        Refusal(.tooManyFields, "query Q { «novels» { \(keys(1_601)) } }", "1600"),
        Refusal(.tooManyRows, "mutation C { novel_insertMany(data: «[\(rows(1_001))]») }", "1000"),
        Refusal(
            .tooManyRows,
            "mutation C { «novel_insert»(data: {title: \"a\", remarks_on_novel: [\(remarks(101))]}) }", "100"),
        Refusal(.uniqueArgument, "query Q { novels(limit: 1, «limit»: 2) { id } }", "more than once"),
        Refusal(
            .uniqueFragmentName,
            "query Q { novels { ...F } } fragment F on Novel { id } fragment «F» on Novel { title }", "more than once"),
        Refusal(
            .uniqueInputField, "query Q { novels(where: {title: {eq: \"a\"}, «title»: {eq: \"b\"}}) { id } }",
            "more than once"),
        Refusal(.unusedFragment, "query Q { novels { id } } fragment «F» on Novel { id }", "never used"),
        Refusal(.unusedVariable, "query Q(«$a»: Int) { novels { id } }", "never used"),
    ]

    private static func keys(_ count: Int) -> String { (0..<count).map { "k\($0): title" }.joined(separator: " ") }
    private static func rows(_ count: Int) -> String { Array(repeating: "{title: \"a\"}", count: count).joined() }
    private static func remarks(_ count: Int) -> String { Array(repeating: "{stars: 1}", count: count).joined() }

    private static let warnings: Set<Diagnostic.Rule> = [
        .missingData, .unknownMutation, .unusedFragment, .unusedVariable,
    ]

    private func diagnostics(_ operations: String, schema: String = schema) -> [Diagnostic] {
        do throws(CatalogError) {
            let project = Project(
                serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: schema)],
                connectors: [ConnectorSource(id: "main", files: [SourceFile(path: "main.gql", text: operations)])])
            return try Catalog.compile(project).warnings
        } catch {
            return error.diagnostics
        }
    }

    @Test(arguments: fixtures)
    func everyFixtureProvokesItsRuleAlone(_ fixture: Refusal) throws {
        let marked = MarkedText(fixture.sdl)
        let found = diagnostics(marked.text)
        let diagnostic = try #require(found.first { $0.rule == fixture.rule }, "\(DiagnosticRenderer().render(found))")
        #expect(found.count == 1, "\(DiagnosticRenderer().render(found))")
        #expect(diagnostic.severity == (Self.warnings.contains(fixture.rule) ? .warning : .error))
        #expect(diagnostic.message.contains(fixture.message), "\(diagnostic.message)")
        if let help = fixture.help {
            #expect(diagnostic.help?.contains(help) == true, "\(diagnostic.help ?? "no help")")
        }
        let place = try #require(marked.place)
        #expect(
            diagnostic.line == place.line && diagnostic.column == place.column,
            "at \(diagnostic.line):\(diagnostic.column), expected \(place)")
    }

    @Test func aSchemaWithoutTablesIsAWarningUnlessOperationsUseNone() {
        func rules(_ operations: String) -> [Diagnostic.Rule] {
            diagnostics(operations, schema: "# nothing yet").map(\.rule)
        }
        #expect(rules("# nothing yet") == [.noOperations, .emptySchema])
        #expect(rules("query Q { lots { id } }") == [.unknownField, .emptySchema])
        #expect(rules(#"query Q { _select(sql: "SELECT name FROM lot") }"#) == [])
        #expect(rules(#"mutation M { _execute(sql: "DELETE FROM lot") }"#) == [])
        #expect(rules(#"query Q { _selectFirst(sql: "SELECT 1") } query R { lots { id } }"#) == [.unknownField])
    }

    @Test func requiredFieldsOfAViewAreAWarning() {
        let sdl =
            "type Novel @table { title: String! }\ntype V @view(sql: \"SELECT title FROM novel\") { title: String! }"
        #expect(schemaDiagnostics(sdl).map { "\($0.severity) \($0.rule) \($0.line)" } == ["warning view-nullability 2"])
    }

    @Test func aResolverWithoutRootsIsAWarning() throws {
        var project = Project(
            serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: Self.schema)], connectors: [])
        project.resolvers = [
            ResolverSource(
                endpoint: ResolverEndpoint(id: "people", uri: "http://localhost:1/g", timeoutMs: 500),
                files: [SourceFile(path: "people.gql", text: "type Person { id: ID! }")])
        ]
        #expect(
            try Catalog.compile(project).warnings.map { "\($0.severity) \($0.rule)" } == ["warning resolver-schema"])
    }

    @Test func diagnosticsOfEachSeverityAreBounded() {
        let text = (0...DiagnosticSink.perSeverityMax).map { "query Q\($0) { noovels { id } }" }.joined(separator: "\n")
        let found = diagnostics(text)
        #expect(found.count == DiagnosticSink.perSeverityMax + 1)
        #expect(
            found.last.map { "\($0.severity) \($0.rule) \($0.message)" }
                == "note too-many-errors 1 more error not shown")
    }

    // MARK: What a mistake explains

    /// A file that does not parse is one error: names that it may have, and uses of others, are no further ones.
    @Test func aFileThatDoesNotParseIsOneError() {
        let sound = """
            query Q @auth(level: USER) @refresh(onMutationExecuted: {operation: "InTheOther"}) {
              novels { ...Far ...Near }
            }
            fragment Near on Novel { id }
            fragment OnlyUsedThere on Novel { title }
            """
        let broken =
            """
            mutation InTheOther @auth(level: USER) { novel_deleteMany(all: true) } fragment Far on Novel { id } query {
            """
        func rules(_ connector: [String], schema: [String] = [Self.schema]) -> [String] {
            do throws(CatalogError) {
                let files = { (texts: [String], name: String) in
                    texts.enumerated().map { SourceFile(path: "\(name)\($0).gql", text: $1) }
                }
                return try Catalog.compile(
                    Project(
                        serviceID: "test", schemaFiles: files(schema, "schema"),
                        connectors: [ConnectorSource(id: "main", files: files(connector, "main"))])
                ).warnings.map(\.rule.rawValue)
            } catch {
                return error.diagnostics.map { "\($0.rule) \($0.file)" }
            }
        }
        #expect(rules([sound, broken]) == ["syntax main1.gql"])
        // Other mistakes of the sound file are still reported.
        #expect(
            rules([sound + " query R { novels { titel } }", broken]) == ["unknown-field main0.gql", "syntax main1.gql"])
        #expect(
            rules(
                [
                    """
                    query Q {
                      novels { id film { name } }
                      films { name }
                      film(first: {where: {name: {eq: "a"}}}) { name }
                    }
                    """
                ],
                schema: [Self.schema, "type Film @table { name: String"]) == ["syntax schema1.gql"])
    }

    /// A fragment used only below an unknown field is not reported as unused, because that field was not resolved.
    @Test func fragmentsBelowAnUnknownFieldAreNotReportedAsUnused() {
        let found = diagnostics(
            "query Q($t: String) { novles(where: {title: {eq: $t}}) { ...F } } fragment F on Novel { id }")
        #expect(found.map(\.rule) == [.unknownField])
    }
}
