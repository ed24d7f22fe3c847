import CEL
import Testing

@Suite struct PatternTests {
    @Test(arguments: [
        ("", "", true), ("a", "", true), ("abc", "b", true), ("abc", "^b", false), ("abc", "^abc$", true),
        ("abc", "a.c", true), ("a\nc", "a.c", false), ("a\nc", "(?s)a.c", true), ("a\nb", "^b", false),
        ("a\nb", "(?m)^b$", true), ("ABC", "(?i)abc", true), ("ABC", "(?i:a)bc", false), ("ABC", "(?i:a)BC", true),
        ("É", "(?i)é", true), ("a", "(?i)[^A]", false), ("aaa", "^a{3}$", true), ("aa", "^a{3}$", false),
        ("aaaa", "^a{2,3}$", false), ("aaaa", "^a{2,}$", true), ("a{,2}", "a{,2}", true), ("x", "a?b*x+?", true),
        ("foobar", "foo(bar|baz)", true), ("foobaz", "^(?:foo)(?P<n>ba[rz])$", true), ("foobax", "foo(bar|baz)", false),
        ("a", "[^a]", false), ("]", "[]a]", true), ("-", "[a-]", true), ("b", "[a-c]", true), ("d", "[a-c]", false),
        ("5", "\\d", true), ("x", "\\D", true), ("_", "^\\w$", true), ("é", "\\w", false), ("\u{0B}", "\\s", false),
        ("a b", "a\\sb", true), ("x", "[\\d\\s]", false), ("x", "[^\\D]", false), ("7", "[[:digit:]]", true),
        ("7", "[[:^digit:]]", false), ("é", "\\p{L}", true), ("é", "\\pL", true), ("é", "\\P{Ll}", false),
        ("1", "\\p{^L}", true), ("a.b", "a\\.b", true), ("axb", "a\\.b", false), ("a.b*", "\\Qa.b*\\E", true),
        ("a b", "\\bb", true), ("ab", "\\bb", false), ("ab", "a\\Bb", true), ("A", "\\x41", true),
        ("😀", "\\x{1F600}", true), ("A", "\\101", true), ("😀😀", "^😀{2}$", true), ("ab", "(a|ab)(c|$)", true),
        ("", "^$", true), ("a", "()", true), ("aab", "(a*)*b", true), ("abab", "^(ab)+$", true), ("a\n", "a$", false),
    ])
    func patternsMatchAsRE2Does(text: String, pattern: String, expected: Bool) throws {
        let environment = Environment(variables: [
            VariableDeclaration(name: "t", type: .string), VariableDeclaration(name: "p", type: .string),
        ])
        let activation = SlotActivation([.string(text), .string(pattern)])
        let found = try environment.compile("t.matches(p) && matches(t, p)").evaluate(activation)
        #expect(found.celEquals(.bool(expected)))
    }

    @Test(arguments: [
        "(", ")", "a)", "[", "[]", "[z-a]", "*", "+a", "a**", "a{2}{3}", "a{2,1}", "a{1001}", "\\", "\\1", "\\k",
        "(?=a)",
        "(?<=a)", "(?!a)", "(?P<>a)", "(?P=n)", "[[:nope:]]", "\\p{Nope}", "\\p{L", "\\x4", "\\x{110000}", "(?i", "{2}",
    ])
    func malformedPatternsAreErrors(pattern: String) throws {
        let environment = Environment(variables: [VariableDeclaration(name: "p", type: .string)])
        #expect(throws: EvaluationError.self) {
            try environment.compile("'a'.matches(p)").evaluate(SlotActivation([.string(pattern)]))
        }
    }
}
