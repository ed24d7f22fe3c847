import SchemaModel
import Testing

/// Problems of expressions and filters are shown in the right place and with a hint.
@Suite struct ExpressionHintTests {
    @Test(arguments: [
        (
            #"query Q($id: String!) @auth(expr: "auth.uid == «id»") { novels { id } }"#,
            "did you mean vars.id?"
        ),
        (
            #"query Q($id: String!) @auth(expr: "vars.id «=» auth.uid") { novels { id } }"#,
            "did you mean ==?"
        ),
        (
            #"query Q($id: UUID!) { novels(where: {id: {eq_expr: "«id»"}}) { id } }"#,
            "did you mean vars.id?"
        ),
        (
            #"query Q($a: Int) @refresh(onMutationExecuted: {operation: "W", condition: "«a» == 1"})"#
                + " { novels { id } } mutation W { novel_deleteMany(all: true) }",
            "did you mean request.variables.a?"
        ),
        (#"query Q @auth(expr: «"auth.uid"») { novels { id } }"#, "auth.uid != nil"),
        (#"query Q($s: String!) @auth(expr: «"vars.s"») { novels { id } }"#, "vars.s != nil"),
        (#"query Q($n: «Integer!») { novels { id } }"#, "did you mean \"Int\"?"),
        (
            #"query Q { novels(where: {title: {«equals»: "x"}}) { id } }"#,
            "it has isNull, in, nin, eq, "
        ),
    ])
    func thePlaceAndTheHint(text: String, help: String) throws {
        let marked = MarkedText(text)
        let place = try #require(marked.place)
        let errors = CatalogHarness.errors(marked.text)
        let error = try #require(errors.first)
        #expect(errors.count == 1 && error.contains(help), "\(errors)")
        #expect(error.hasPrefix("\(place.line):\(place.column) "), "\(error), expected \(place)")
    }

    @Test(arguments: ["vars.flag", "auth.token.email_verified", "request.variables.flag"])
    func pathsThatMayBeBooleanAreAllowed(expression: String) {
        let head = "query Q($flag: Boolean!) @auth(expr: \"\(expression)\")"
        #expect(CatalogHarness.errors(head + " { novels(limit: 1) @include(if: $flag) { id } }") == [])
    }
}
