import Catalog
import DeploymentPlan
import Foundation
import ProjectFolder
import SchemaModel
import TestSupport
import Testing

/// Compiles all fixtures and compares the rules that they report with all that exist: finds a rule that nothing reports
/// any more, and one without a fixture.
@Suite struct EveryRuleTests {
    /// Rules that only `freshet check --database` reports, from the plans of Postgres: `ToolTests`.
    private static let needDatabase: Set<Diagnostic.Rule> = [
        .sequentialScan, .databaseLog, .refreshTrigger, .refreshAnyRow, .refreshSQL,
    ]

    @Test func everyRuleIsReported() throws {
        var reported: Set<Diagnostic.Rule> = []
        for row in OperationErrorsTests.rows { reported.formUnion(rules(CatalogHarness.schema, row.text)) }
        for fixture in RuleFixtureTests.fixtures {
            reported.formUnion(rules(RuleFixtureTests.schema, MarkedText(fixture.sdl).text))
        }
        for fixture in SchemaRefusalTests.all {
            reported.formUnion(rules(MarkedText(fixture.sdl).text, "query Q { x { id } }"))
        }
        reported.formUnion(
            rules("type A @table { b: B! } type B @table { a: A! }", "query Q @auth(level: USER) { bs { id } }"))
        for (rule, changes) in Self.folders {
            let found = try rules(inFolder: changes)
            #expect(found.contains(rule), "\(rule): \(found)")
            reported.formUnion(found)
        }
        for (rule, upgrade) in Self.upgrades {
            let found = try rules(upgrade)
            #expect(found.contains(rule), "\(rule): \(found)")
            reported.formUnion(found)
        }
        let declared = Set(Diagnostic.Rule.allCases)
        #expect(declared.subtracting(reported).subtracting(Self.needDatabase) == [])
        #expect(reported.subtracting(declared) == [])
        #expect(reported.isDisjoint(with: Self.needDatabase))
    }

    private func rules(_ schema: String, _ operations: String) -> Set<Diagnostic.Rule> {
        rules {
            Project(
                serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: schema)],
                connectors: [ConnectorSource(id: "main", files: [SourceFile(path: "main.gql", text: operations)])])
        }
    }

    private func rules(_ load: () throws(CatalogError) -> Project) -> Set<Diagnostic.Rule> {
        do throws(CatalogError) {
            let project = try load()
            let catalog = try Catalog.compile(project)
            return Set((catalog.warnings + catalog.lints).map(\.rule))
        } catch {
            return Set(error.diagnostics.map(\.rule))
        }
    }

    // MARK: Folders

    /// A project folder that is sound.
    private static let sound: [String: String] = [
        "dataconnect.yaml": "specVersion: v1\nserviceId: shop\nlocation: eu\nconnectorDirs: [./main]\n",
        "schema/schema.gql": CatalogHarness.schema, "main/connector.yaml": "connectorId: main\n",
        "main/queries.gql": "query Q @auth(level: USER) { novel(id: \"\(CatalogHarness.uuidA)\") { id } }",
    ]

    private static let write = " mutation W($id: UUID!) @auth(level: USER) { remark_delete(id: $id) }"
    private static let resolvers = """
        serviceId: shop
        connectorDirs: [./main]
        schemas:
          - source: ./schema
          - {id: people, source: ./people, datasource: {httpGraphql: {uri: "http://localhost:1/graphql"}}}
        """

    /// The changes to the sound folder by rule: the text of a file (`→`: a link to), or nil to remove it.
    private static let folders: [Diagnostic.Rule: [String: String?]] = [
        .checkLate: [
            "main/queries.gql":
                """
            query Q($id: UUID!) @auth(level: USER) {
              a: novel(id: $id) { id }
              b: novel(id: $id) @redact { id @check }
            }
            """
        ],
        .configurationIdentifier: ["dataconnect.yaml": "serviceId: a/b\nconnectorDirs: [./main]\n"],
        .configurationMissing: ["main/connector.yaml": "generate: {}\n"],
        .configurationRepeated: ["dataconnect.yaml": "serviceId: a\nconnectorDirs: [./main, ./main]\n"],
        .configurationType: ["dataconnect.yaml": "serviceId: [a]\nconnectorDirs: [./main]\n"],
        .configurationUnknown: ["dataconnect.yaml": "serviceId: a\ncolour: red\nconnectorDirs: [./main]\n"],
        .configurationValue: ["refresh.yaml": "automatic: sometimes\n"],
        .configurationVersion: ["dataconnect.yaml": "specVersion: v9\nserviceId: a\nconnectorDirs: [./main]\n"],
        .duplicateConnector: [
            "dataconnect.yaml": "serviceId: a\nconnectorDirs: [./main, ./other]\n",
            "other/connector.yaml": "connectorId: main\n", "other/queries.gql": "",
        ],
        .noConfiguration: ["dataconnect.yaml": nil],
        .noConnectors: ["dataconnect.yaml": "serviceId: a\n"],
        .noFolder: ["dataconnect.yaml": "serviceId: a\nschema: {source: ./nowhere}\nconnectorDirs: [./main]\n"],
        .noOperations: ["main/queries.gql": nil],
        .noSchemaFiles: ["schema/schema.gql": nil, "schema/readme.md": ""],
        .tooDeep: ["schema/\((0...ProjectFolder.depthMax).map { "d\($0)" }.joined(separator: "/"))/x.gql": ""],
        .tooLarge: ["schema/more.gql": String(repeating: "#", count: ProjectFolder.fileBytesMax + 1)],
        .tooManyFiles: Dictionary(
            uniqueKeysWithValues: (0...ProjectFolder.filesMax).map { ("schema/many/\($0).gql", "") }),
        .unreadable: ["schema/gone.gql": "→nowhere"],
        .yaml: ["dataconnect.yaml": "serviceId: [a\n"],
        .emptySchema: ["schema/schema.gql": "# nothing yet"],
        .tooManyColumns: [
            "schema/schema.gql": "type A @table { \((0..<1_600).map { "f\($0): Int" }.joined(separator: " ")) }"
        ],
        .tooManyErrors: [
            "main/queries.gql": (0...DiagnosticSink.perSeverityMax).map { "query Q\($0) { noovels { id } }" }.joined()
        ],
        .operationTooLarge: [
            "main/queries.gql": "query Q { novels { ...F0 } } fragment F20 on Novel { title }"
                + (0..<20).map { level in
                    let inner = "remarks_on_novel { novel { ...F\(level + 1) } }"
                    return " fragment F\(level) on Novel { a: \(inner) b: \(inner) }"
                }.joined()
        ],
        .viewNullability: [
            "schema/more.gql": "type V @view(sql: \"SELECT title FROM novel\") { title: String! }"
        ],
        .resolverSchema: ["dataconnect.yaml": resolvers, "people/p.gql": "type Person { id: ID! }"],
        .customResolver: [
            "dataconnect.yaml": resolvers, "people/p.gql": "type Mutation { rename(name: String!): Boolean }",
            "main/queries.gql": "mutation M @auth(level: USER) @transaction { rename(name: \"x\") }",
        ],
        .refreshTime: [
            "main/queries.gql":
                """
            # freshet: refresh automatic
            query Q @auth(level: USER) { novels(where: {createdAt: {gt_time: {now: true}}}) { title } }
            """
        ],
        .refreshTooBroad: [
            "main/queries.gql":
                """
            query Q($id: UUID!) @auth(level: USER) @refresh(onMutationExecuted: {operation: "M"}) {
              remarks(where: {novelId: {eq: $id}}) { text }
            }
            """
                + " mutation M($novelId: UUID!) @auth(level: USER) { remark_insert(data: {novelId: $novelId}) }"
        ],
        .refreshUnrelated: [
            "main/queries.gql":
                "query Q @auth(level: USER) @refresh(onMutationExecuted: {operation: \"W\"}) { makers { name } }"
                + write
        ],
        .refreshOften: [
            "main/queries.gql": "query Q @auth(level: USER) @refresh(every: {seconds: 20}) { remarks { text } }" + write
        ],
        .missingIndex: [
            "main/queries.gql":
                """
            query Q @auth(level: USER) @refresh(every: {seconds: 30}) {
              novels(where: {printedYear: {gt: 1}}) { id }
            }
            """
        ],
    ]

    private func rules(inFolder changes: [String: String?]) throws -> Set<Diagnostic.Rule> {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path
        for (name, text) in Self.sound.merging(changes.mapValues { $0 ?? "−" }, uniquingKeysWith: { $1 })
        where text != "−" {
            let file = URL(filePath: path + "/" + name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            if text.hasPrefix("→") {
                let target = path + "/" + text.dropFirst()
                try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: target)
            } else {
                try Data(text.utf8).write(to: file)
            }
        }
        return rules { () throws(CatalogError) in try ProjectFolder.load(path) }
    }

    // MARK: New versions

    private struct Upgrade {
        var from = "query Q($l: Int) @auth(level: USER) { novels(limit: $l) { id title } }"
        let to: String
        var service = "test"
        var connector = "main"
    }

    private static let upgrades: [Diagnostic.Rule: Upgrade] = [
        .serviceChanged: Upgrade(
            to: "query Q($l: Int) @auth(level: USER) { novels(limit: $l) { id title } }", service: "other"),
        .connectorRemoved: Upgrade(
            to: "query Q($l: Int) @auth(level: USER) { novels(limit: $l) { id title } }", connector: "other"),
        .operationRemoved: Upgrade(to: "query R @auth(level: USER) { novels { id } }"),
        .operationKind: Upgrade(to: "mutation Q @auth(level: USER) { novel_deleteMany(all: true) }"),
        .operationText: Upgrade(
            to: "query Q($l: Int) @auth(level: USER) { novels(limit: $l) { id title genre } }"),
        .resultFieldRemoved: Upgrade(to: "query Q($l: Int) @auth(level: USER) { novels(limit: $l) { id } }"),
        .authStricter: Upgrade(
            to: "query Q($l: Int) @auth(level: USER_EMAIL_VERIFIED) { novels(limit: $l) { id title } }"),
        .authLooser: Upgrade(to: "query Q($l: Int) @auth(level: PUBLIC) { novels(limit: $l) { id title } }"),
        .variableRemoved: Upgrade(to: "query Q @auth(level: USER) { novels { id title } }"),
        .variableRequired: Upgrade(
            to: "query Q($l: Int!) @auth(level: USER) { novels(limit: $l) { id title } }"),
        .variableType: Upgrade(
            to: "query Q($l: String) @auth(level: USER) { novels(where: {title: {eq: $l}}) { id title } }"),
        .variableAllowance: Upgrade(
            from:
                """
                mutation Q(
                  $d: Novel_Data! @allow(fields: "title remarks_on_novel { stars text }")
                ) @auth(level: USER) { novel_insert(data: $d) }
                """,
            to:
                """
                mutation Q($d: Novel_Data! @allow(fields: "title remarks_on_novel { stars }")) @auth(level: USER) {
                  novel_insert(data: $d)
                }
                """
        ),
        .refreshRemoved: Upgrade(
            from: "query Q @auth(level: USER) @refresh(every: {seconds: 30}) { novels { id } }",
            to: "query Q @auth(level: USER) { novels { id } }"),
    ]

    private func rules(_ upgrade: Upgrade) throws -> Set<Diagnostic.Rule> {
        let project = Project(
            serviceID: upgrade.service, schemaFiles: [SourceFile(path: "schema.gql", text: CatalogHarness.schema)],
            connectors: [
                ConnectorSource(id: upgrade.connector, files: [SourceFile(path: "main.gql", text: upgrade.to)])
            ])
        let findings = CompatibilityCheck.findings(
            from: try CatalogHarness.compile(upgrade.from), to: try Catalog.compile(project), project: project)
        return Set(findings.map(\.rule))
    }
}
