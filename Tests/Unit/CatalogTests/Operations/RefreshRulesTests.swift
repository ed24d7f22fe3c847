import Catalog
import CEL
import JSON
import LiveModel
import Operations
import SchemaModel
import Testing

@Suite struct RefreshRulesTests {
    private func rules(_ directives: String) throws -> RefreshRules {
        let catalog = try CatalogHarness.compile(
            """
            query Q($g: String) \(directives) { users { id } }
            mutation AddNovel($g: String) { user_insert(data: {id: "x", name: $g}) }
            mutation Drop { user_delete(id: "x") }
            """
        )
        return try #require(catalog.operation(OperationReference(connector: "main", operation: "Q"))).refresh
    }

    @Test func intervalsAreBoundedAndTheShortestCounts() throws {
        #expect(try rules("").everyMs == nil)
        #expect(try rules("@refresh(every: {seconds: 30})").everyMs == 30_000)
        #expect(try rules("@refresh(every: {minutes: 1, seconds: 30}) @refresh(every: {hours: 1})").everyMs == 90_000)
        for bad in ["{seconds: 9}", "{hours: 2}", "{}", "{seconds: -1}", "{second: 30}", "30", "{years: 9000000000}"] {
            #expect(!CatalogHarness.errors("query Q @refresh(every: \(bad)) { users { id } }").isEmpty, "\(bad)")
        }
    }

    @Test func triggersHaveOperationAndCondition() throws {
        let rules = try rules(
            """
            @refresh(
              onMutationExecuted: {operation: " AddNovel ", condition: "request.variables.g == mutation.variables.g"}
            )
            @refresh(
              every: {seconds: 30},
              onMutationExecuted: [
                {operation: "Drop"},
                {operation: "AddNovel", condition: "mutation.auth.uid == request.auth.uid"}
              ]
            )
            """)
        #expect(rules.triggers.map(\.mutation.operation) == ["AddNovel", "Drop", "AddNovel"])
        #expect(rules.triggers.map(\.index) == [0, 1, 2])
        #expect(rules.triggers[1].condition == nil)
        let program = try #require(rules.triggers[0].condition)
        func decide(_ left: JSONObject, _ right: JSONObject) throws -> CEL.Value {
            try program.evaluate(
                SlotActivation([
                    RefreshRules.requestValue(variables: left, auth: nil),
                    RefreshRules.requestValue(variables: right, projectedAuth: nil),
                ]))
        }
        guard case .bool(true) = try decide(["g": "a"], ["g": "a"]),
            case .bool(false) = try decide(["g": "a"], ["g": "b"])
        else {
            Issue.record("the condition decides wrongly")
            return
        }
    }

    @Test func mistakesAreErrorsAndDoubtsWarnings() throws {
        let errors = [
            ("query Q @refresh { users { id } }", "needs \"every\""),
            ("query Q @refresh(onMutationExecuted: {}) { users { id } }", "needs the name"),
            ("query Q @refresh(onMutationExecuted: {operation: \"Q\"}) { users { id } }", "is a query"),
            (
                """
                query Q @refresh(onMutationExecuted: {operation: "M", condition: "request.time == 1"}) { users { id } }
                """,
                "cannot read request.time"
            ),
            (
                "query Q @refresh(onMutationExecuted: {operation: \"M\", condition: \"1 +\"}) { users { id } }",
                "refresh-condition"
            ),
            ("query Q @refresh(onMutationExecuted: {operation: \"M\", condition: \"1\"}) { users { id } }", "bool"),
            (
                "query Q @refresh(onMutationExecuted: {operation: \"M\", condition: \"vars.x\"}) { users { id } }",
                "vars"
            ),
            ("mutation M @refresh(every: {seconds: 30}) { user_delete(id: \"x\") }", "only allowed on queries"),
        ]
        for (text, part) in errors {
            let found = CatalogHarness.errors(text)
            #expect(found.contains { $0.contains(part) }, "\(text): \(found)")
        }
        let unknown = try CatalogHarness.warnings(
            """
            query Q @refresh(onMutationExecuted: {operation: "addUser"}) { users { id } }
            mutation AddUser { user_delete(id: "x") }
            """
        )
        #expect(unknown.count == 1 && unknown[0].contains("did you mean \"AddUser\"?"))
        let variable = try CatalogHarness.warnings(
            """
            query Q @refresh(
              onMutationExecuted: {
                operation: "M", condition: "mutation.variables.nmae == 1 || request.variables.x == 1"
              }
            ) { users { id } }
            mutation M($name: String) { user_update(id: "x", data: {name: $name}) }
            """
        )
        #expect(variable.count == 2 && variable.contains { $0.contains("did you mean \"name\"?") }, "\(variable)")
    }

    @Test func aMutationOfAnotherConnectorIsNamedWithIt() throws {
        func unknown(_ others: [String: String], naming name: String = "AddUser") throws -> [String] {
            let query = #"query Q @refresh(onMutationExecuted: {operation: "\#(name)"}) { users { id } }"#
            let mutation = #"mutation AddUsers { user_delete(id: "x") }"#
            let connectors = others.merging(["main": "\(query) \(mutation)"]) { $1 }
            return try CatalogHarness.compile(connectors, schema: CatalogHarness.schema).warnings
                .filter { $0.rule == .unknownMutation }.map { "\($0.message) [\($0.help ?? "")]" }
        }
        let add = #"mutation AddUser { user_delete(id: "x") }"#
        let missing = #"the connector has no mutation "AddUser""#
        #expect(try unknown(["office": add]) == [#"\#(missing) [did you mean "office/AddUser"?]"#])
        #expect(try unknown(["a": add, "z": add]) == [#"\#(missing) [did you mean "a/AddUser" or "z/AddUser"?]"#])
        #expect(
            try unknown(["office": "query AddUser { users { id } }"]) == [#"\#(missing) [did you mean "AddUsers"?]"#])
        #expect(try unknown(["office": add], naming: "office/AddUser").isEmpty)
        #expect(try unknown(["office": add], naming: "main/AddUsers").isEmpty)
        #expect(
            try unknown(["office": add], naming: "offices/AddUser") == [
                #"the project has no connector "offices" [did you mean "office"?]"#
            ])
        #expect(
            try unknown(["office": add], naming: "office/AddUsers") == [
                #"the connector "office" has no mutation "AddUsers" [did you mean "AddUsers"?]"#
            ])
        for wrong in ["office/", "/AddUser", "a/b/c"] {
            let query = #"query Q @refresh(onMutationExecuted: {operation: "\#(wrong)"}) { users { id } }"#
            #expect(CatalogHarness.errors(query).contains { $0.contains("a connector and a mutation") }, "\(wrong)")
        }
    }

    /// Conditions, variables and events work across connectors as within one.
    @Test func rulesOnOtherConnectorsAreChecked() throws {
        func compile(_ rule: String) throws -> Catalog {
            try CatalogHarness.compile(
                [
                    "main": "query Q($id: String) @refresh(onMutationExecuted: {\(rule)}) { users { id } }",
                    "office": """
                    mutation Rename($name: String) { user_update(id: "x", data: {}) }
                    query Find { users { id } }
                    """,
                ], schema: CatalogHarness.schema)
        }
        let catalog = try compile(
            #"operation: "office/Rename", condition: "mutation.variables.name == request.variables.id""#)
        // The condition of the other connector uses the variable.
        #expect(!catalog.warnings.contains { $0.rule == .unusedVariable || $0.rule == .refreshCondition })
        let mutation = OperationReference(connector: "office", operation: "Rename")
        let query = OperationReference(connector: "main", operation: "Q")
        #expect(catalog.queriesRefreshed(by: mutation) == [query])
        let wrong = try compile(
            #"operation: "office/Rename", condition: "mutation.variables.nmae == request.variables.id""#)
        #expect(wrong.warnings.contains { $0.message.contains(#""office/Rename" declares no variable "$nmae""#) })
        #expect(throws: CatalogError.self) { try compile(#"operation: "office/Find""#) }
    }

    @Test func refreshesAndTheAttributesTheyRead() throws {
        let catalog = try CatalogHarness.compile(
            [
                "main": """
                query ByKey($id: String!) { user(id: $id) { id } }
                query List @refresh(
                  onMutationExecuted: {
                    operation: "Write", condition: "mutation.auth.token.org == request.auth.token['team']"
                  }
                ) { users { id } }
                query Other { novels { id } }
                mutation Write($id: String!) { user_update(id: $id, data: {name: "x"}) }
                mutation Many { user_deleteMany(all: true) }
                """,
                "admin":
                    """
                mutation Write { user_upsert(data: {id: "x"}) }
                mutation Insert { novel_insert(data: {title: "t"}) }
                """,
            ], schema: CatalogHarness.schema)
        func refreshed(_ connector: String, _ name: String) -> [String] {
            catalog.queriesRefreshed(by: OperationReference(connector: connector, operation: name)).map(\.description)
        }
        #expect(refreshed("main", "Write") == ["main/ByKey", "main/List"])
        #expect(refreshed("admin", "Write") == ["main/ByKey"])
        #expect(refreshed("main", "Many") == [])
        #expect(refreshed("admin", "Insert") == [])
        let write = OperationReference(connector: "main", operation: "Write")
        #expect(catalog.authReadsOfConditions(on: write).claims == ["org"])
        #expect(
            catalog.authReadsOfConditions(on: OperationReference(connector: "admin", operation: "Write")) == .nothing)
        let list = try #require(catalog.operation(OperationReference(connector: "main", operation: "List")))
        #expect(list.authReads.claims == ["team"] && !list.authReads.uid)
        #expect(catalog.operation(write)?.tablesWrittenByKey == ["user"])
        #expect(catalog.operation(write)?.refresh.lookupTables == [])
    }

    @Test func versionFollowsTextFragmentsAndSchema() throws {
        func version(_ text: String, _ schema: String = CatalogHarness.schema) throws -> Digest {
            try #require(
                try CatalogHarness.compile(text, schema: schema).operation(
                    OperationReference(connector: "main", operation: "Q"))
            ).version
        }
        let base = try version("query Q { users { ...F } } fragment F on User { id }")
        #expect(try version("query R { novels { id } } query Q { users { ...F } } fragment F on User { id }") == base)
        #expect(try version("query Q { users { ...F } } fragment F on User { id name }") != base)
        #expect(
            try version("query Q { users { ...F } } fragment F on User { id }", CatalogHarness.schema + "\n") != base)
    }
}
