import Catalog
import SchemaModel

/// Measures the compilation of a project of 500 operations: 40 tables that refer to each other, and in each operation
/// typical filters, relations, expressions and rules.
package enum CompileBenchmark {
    private static let tables = 40
    private static let operations = 500

    package static func run(isQuick: Bool) throws -> [BenchmarkResult] {
        let project = Self.project()
        var fastest = Double.infinity
        for _ in 0..<(isQuick ? 3 : 10) {
            let start = Clock.now
            let catalog = try Catalog.compile(project)
            fastest = min(fastest, Clock.now - start)
            let count = catalog.connectors.values.reduce(0) { $0 + $1.operations.count }
            guard count == operations else { throw BenchmarkFailure("\(count) operations instead of \(operations)") }
            keep(catalog)
        }
        let bytes =
            project.schemaFiles.reduce(0) { $0 + $1.text.utf8.count }
            + project.connectors.flatMap(\.files).reduce(0) { $0 + $1.text.utf8.count }
        print(
            Text.table([
                ["compiling \(operations) operations over \(tables) tables, \(bytes / 1_024) KiB", "ms"],
                ["fastest", Text.fixed(fastest * 1e3, decimals: 1)],
                ["each operation", Text.fixed(fastest * 1e3 / Double(operations), decimals: 3)],
            ]))
        return [
            BenchmarkResult(
                name: "compiling a project of 500 operations, seconds", measured: Text.milliseconds(fastest),
                ratio: fastest, limit: .atMost(BenchmarkLimits.compileSecondsMax))
        ]
    }

    private static func project() -> Project {
        Project(
            serviceID: "bench", schemaFiles: [SourceFile(path: "schema.gql", text: schema)],
            connectors: [
                ConnectorSource(
                    id: "main",
                    files: (0..<10).map { file in
                        SourceFile(
                            path: "operations\(file).gql",
                            text: (0..<(operations / 10)).map { operation(file * (operations / 10) + $0) }
                                .joined(separator: "\n"))
                    })
            ])
    }

    private static var schema: String {
        (0..<tables).map { number in
            """
            type Item\(number) @table {
              title: String! @searchable
              kind: String @index
              count: Int
              price: Float
              tags: [String!]
              extras: Any
              createdAt: Timestamp! @default(expr: "request.time")
              ownerId: String @default(expr: "auth.uid")
              parent: Item\((number + 1) % tables)
              next: Item\((number * 7 + 3) % tables)
            }
            """
        }.joined(separator: "\n")
    }

    private static func operation(_ number: Int) -> String {
        let table = number / 4 % tables
        let parent = (table + 1) % tables
        let before = (table + tables - 1) % tables
        switch number % 4 {
        case 0:
            return """
                query Get\(number)($id: UUID!) @auth(level: USER)
                  @refresh(onMutationExecuted: {
                    operation: "Set\(number + 2)", condition: "request.variables.id == mutation.variables.id"
                  }) {
                  item\(table)(id: $id) {
                    id title kind count price tags createdAt
                    parent { id title }
                    item\(before)s_on_parent(limit: 10, orderBy: [{createdAt: DESC}]) { id title owner: ownerId }
                  }
                }
                """
        case 1:
            return """
                query List\(number)($kind: String, $least: Int, $title: String, $limit: Int = 20)
                  @auth(expr: "auth.uid != nil && auth.token.tenant == 'a'")
                  @refresh(every: {seconds: 60})
                  @refresh(onMutationExecuted: {
                    operation: "Set\(number + 1)"
                    condition: "request.variables.kind == mutation.variables.kind \
                && request.auth.uid != mutation.auth.uid"
                  }) {
                  item\(table)s(
                    where: {
                      kind: {eq: $kind}, count: {ge: $least}, ownerId: {eq_expr: "auth.uid"}
                      _or: [{title: {contains: $title}}, {parent: {title: {startsWith: $title}}}]
                    }
                    orderBy: [{price: DESC}, {title: ASC}] limit: $limit
                  ) { id title kind price parent { id kind next { id } } }
                  item\(parent)s { kind _count price_avg }
                }
                """
        case 2:
            return """
                mutation Set\(number)($id: UUID!, $kind: String!, $count: Int) @auth(level: USER) @transaction {
                  query { item\(table)(id: $id) { ownerId @check(expr: "this == auth.uid", message: "not yours") } }
                  item\(table)_update(id: $id, data: {kind: $kind, count: $count})
                }
                """
        default:
            return """
                mutation Add\(number)(
                  $title: String!, $parent: Item\(parent)_Key
                  $data: Item\(table)_Data! @allow(fields: "title kind count")
                ) @auth(level: USER) {
                  item\(table)_insert(
                    data: {title: $title, parent: $parent, item\(before)s_on_parent: [{title: $title}]})
                  more: item\(table)_upsert(data: $data)
                }
                """
        }
    }
}
