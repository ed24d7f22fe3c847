import Testing
@testable import SchemaMigration

@Suite("Texts of expressions of indexes")
struct ExpressionTextTests {
    /// Expressions as this service writes them, and as Postgres 15 to 18 print them.
    @Test(arguments: [
        (
            #"to_tsvector('english'::regconfig, coalesce("title", ''))"#,
            "to_tsvector('english'::regconfig, COALESCE(title, ''::text))"
        ),
        (
            """
            to_tsvector('german'::regconfig, coalesce("title", '') || ' ' || coalesce("The Body", \
            '') || ' ' || coalesce("c", ''))
            """,
            """
            to_tsvector('german'::regconfig, (((((COALESCE(title, \
            ''::character varying))::text || ' '::text) || COALESCE("The Body", \
            ''::text)) || ' '::text) || (COALESCE(c, ''::character varying(40)))::text))
            """
        ),
    ])
    func expressionsEqualTheirPrintedForm(written: String, printed: String) {
        #expect(ExpressionText.areSame(written, printed))
    }

    @Test(arguments: [
        ("f('english'::regconfig, a)", "f('german'::regconfig, a)"), ("f(a, b)", "f(b, a)"), ("f(\"A\")", "f(a)"),
        ("f('A')", "f('a')"), ("f('a''b')", "f('ab')"), ("f(' ')", "f('')"), ("f(a)", "f(a) || f(b)"),
    ])
    func differentExpressionsDiffer(one: String, other: String) {
        #expect(!ExpressionText.areSame(one, other) && ExpressionText.areSame(other, other))
    }

    @Test func noExpressionEqualsOnlyItself() {
        #expect(ExpressionText.areSame(nil, nil) && !ExpressionText.areSame(nil, "f(a)"))
    }
}
