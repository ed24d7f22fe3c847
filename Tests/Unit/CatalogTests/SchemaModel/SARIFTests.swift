import JSON
import SchemaModel
import Testing

@Suite struct SARIFTests {
    @Test func aLogWithPlacesAndRules() throws {
        let diagnostics = [
            Diagnostic(
                severity: .error, rule: .unknownField, message: "m", file: "schema/a b.gql", line: 3, column: 5,
                length: 4,
                help: "h"),
            Diagnostic(
                severity: .warning, rule: .noConnectors, message: "w", file: "/x/dataconnect.yaml", line: 0, column: 0
            ),
            Diagnostic(severity: .error, rule: .unknownField, message: "n", file: "c.gql", line: 1, column: 1),
        ]
        let log = SARIFRenderer.log(diagnostics, version: "0.1.0")
        #expect(log["version"]?.stringValue == "2.1.0")
        let run = try #require(log["runs"]?.arrayValue?.first)
        #expect(
            run["tool"]?["driver"]?["rules"]?.description
                == """
                [{"id":"no-connectors","shortDescription":{"text":"Clients can only run operations of connectors, \
                and the project has none."}},{"id":"unknown-field","shortDescription":{"text":"The type has no such \
                field."}}]
                """
        )
        let results = try #require(run["results"]?.arrayValue)
        #expect(
            results.map(\.description) == [
                #"""
                {"ruleId":"unknown-field","ruleIndex":1,"level":"error","message":{"text":"m\nh"},\#
                "locations":[{"physicalLocation":{"artifactLocation":{"uri":"schema/a%20b.gql"},\#
                "region":{"startLine":3,"startColumn":5,"endColumn":9}}}]}
                """#,
                """
                {"ruleId":"no-connectors","ruleIndex":0,"level":"warning","message":{"text":"w"},\
                "locations":[{"physicalLocation":{"artifactLocation":{"uri":"file:///x/dataconnect.yaml"}}}]}
                """,
                """
                {"ruleId":"unknown-field","ruleIndex":1,"level":"error","message":{"text":"n"},\
                "locations":[{"physicalLocation":{"artifactLocation":{"uri":"c.gql"},\
                "region":{"startLine":1,"startColumn":1,"endColumn":2}}}]}
                """,
            ])
    }
}
