import Catalog
import Operations
import SchemaModel
import Testing

/// Which operations remain if others do not compile, and which variables count as used.
@Suite struct InvalidOperationTests {
    private static let schema = "type Novel @table { title: String! }"

    private func compile(
        _ operations: String, schema: String = schema, omits: Bool = true
    ) throws(CatalogError) -> Catalog {
        try Catalog.compile(
            Project(
                serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: schema)],
                connectors: [ConnectorSource(id: "main", files: [SourceFile(path: "main.gql", text: operations)])]),
            options: CatalogOptions(omitsInvalidOperations: omits))
    }

    @Test func theOthersAreServed() throws {
        let text = """
            query Good { novels { title } }
            query Bad { novels { titel } }
            query Wrong @refresh(onMutationExecuted: {operation: "Good"}) { novels { id } }
            mutation Add { novel_insert(data: {title: "x"}) }
            """
        let catalog = try compile(text)
        #expect(catalog.connectors["main"]?.operations.keys.sorted() == ["Add", "Good"])
        #expect(catalog.invalidOperations == ["main/Bad", "main/Wrong"])
        #expect(catalog.errors.map(\.rule) == [.unknownField, .triggerTarget])
        #expect(throws: CatalogError.self) { try compile(text, omits: false) }
    }

    @Test(arguments: [
        ("query Good { novels { title } } query Bad {", schema),
        ("query Good { novels { title } }", "type Novel @table { title: Strin! }"),
        ("query Twice { novels { title } } query Twice { novels { id } }", schema),
        ("query Good { novels { ...F } } fragment F on Nove { id }", schema),
    ])
    func errorsOutsideOperationsFailTheCompilation(operations: String, schema: String) {
        #expect(throws: CatalogError.self) { try compile(operations, schema: schema) }
    }

    @Test(arguments: [
        "request.variables.shelf == mutation.variables.shelf",
        "request.variables['shelf'] == mutation.variables['shelf']",
        "request.variables == mutation.variables", "has(request.variables.shelf) && has(mutation.variables.shelf)",
        "request == mutation",
    ])
    func variablesThatOnlyConditionsReadAreUsed(condition: String) throws {
        let catalog = try compile(
            """
            query Q($shelf: String) @auth(level: USER)
              @refresh(onMutationExecuted: {operation: "Add", condition: "\(condition)"}) { novels { title } }
            mutation Add($shelf: String) @auth(level: USER) { novel_insert(data: {title: "x"}) }
            """)
        #expect(catalog.warnings.map(\.message) == [])
    }

    @Test func variablesThatNoConditionReadsAreNotUsed() throws {
        let catalog = try compile(
            """
            query Q @auth(level: USER)
              @refresh(onMutationExecuted: {operation: "Add", condition: "mutation.variables.shelf == 'a'"}) {
              novels { title }
            }
            mutation Add($shelf: String, $row: Int) @auth(level: USER) { novel_insert(data: {title: "x"}) }
            mutation Other($shelf: String) @auth(level: USER) { novel_insert(data: {title: "x"}) }
            """)
        #expect(
            catalog.warnings.map { "\($0.line): \($0.message)" } == [
                "5: \"$row\" is never used", "6: \"$shelf\" is never used",
            ])
    }
}
