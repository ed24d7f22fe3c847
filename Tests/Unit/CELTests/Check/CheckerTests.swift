import CEL
import Testing

@Suite struct CheckerTests {
    @Test(arguments: [
        ("y", "1:1: undeclared reference to 'y' (in container '')"),
        ("1 + 'a'", "1:1: no overload of '_+_' takes '(int, string)'"),
        ("1 == 'a'", "1:1: no overload of '_==_' takes '(int, string)'"),
        ("'a'.startsWith(1)", "1:1: no overload of 'startsWith' takes 'string.(int)'"),
        ("size(1)", "1:1: no overload of 'size' takes '(int)'"),
        ("nope(1)", "1:1: undeclared reference to 'nope' (in container '')"),
        ("true && 1", "1:9: expected type 'bool' but found 'int'"),
        ("[1].all(e, e)", "1:12: expected type 'bool' but found 'int'"),
        ("1.all(e, true)", "1:1: type 'int' cannot be the range of a macro"),
        ("(1).all(e, true)", "1:2: type 'int' cannot be the range of a macro"),
        ("'a'.b", "1:1: type 'string' has no fields"),
        ("has('a'.b)", "1:1: type 'string' has no fields"),
        ("{1: 2}.a", "1:1: type 'map(int, int)' has no fields"),
        ("{[1]: 2}", "1:2: type 'list(int)' cannot be the key of a map"),
        ("'a'.matches('[')", "1:13: malformed regular expression: missing ']'"),
        ("Message{a: 1}", "1:1: undeclared reference to 'Message' (in container '')"),
    ])
    func problemsHavePositionsAndSignatures(source: String, expected: String) {
        #expect(diagnostics(source) == [expected])
    }

    @Test func everyProblemIsReportedOnce() {
        #expect(
            diagnostics("y.a.b == 1 && z + 1 > 2 && 'a' < 1") == [
                "1:1: undeclared reference to 'y' (in container '')",
                "1:15: undeclared reference to 'z' (in container '')",
                "1:28: no overload of '_<_' takes '(string, int)'",
            ])
    }

    @Test func resultTypeIsDemanded() {
        #expect(diagnostics("1", expecting: .bool) == ["1:1: expected type 'bool' but found 'int'"])
        #expect(diagnostics("x.a", expecting: .bool).isEmpty)
    }

    @Test(arguments: [
        ("[]", "list(dyn)"), ("{}", "map(dyn, dyn)"), ("[1, 2u]", "list(dyn)"), ("[1, dyn(2u)]", "list(dyn)"),
        ("[[], [1]]", "list(list(int))"), ("true ? 1 : dyn('a')", "dyn"), ("[1].map(e, string(e))", "list(string)"),
        ("{'a': 1}.map(k, k)", "list(string)"), ("[1].filter(e, e > 0)", "list(int)"),
        ("[1].map(e, e > 0, [e])", "list(list(int))"), ("type(1)", "type(int)"), ("int", "type(int)"),
        ("timestamp(0) - timestamp(0)", "duration"), ("timestamp(0) + duration('1s')", "timestamp"),
        ("[1] + [2]", "list(int)"), ("[duration('1s'), null][0]", "duration"), ("[null, timestamp(0)][0]", "timestamp"),
        ("[null, 1]", "list(dyn)"), ("{'a': [1]}['a'][0]", "int"), ("request.a.b", "dyn"), ("1 < 2.0", "bool"),
    ])
    func typesOfExpressionsAreDeduced(source: String, expected: String) throws {
        #expect(try conditions.deduceType(source).description == expected)
    }

    @Test func declaredFunctionsAreCheckedAndCalled() throws {
        let environment = Environment(
            variables: [VariableDeclaration(name: "n", type: .int)],
            functions: [
                FunctionDeclaration(
                    name: "math.twice", overloads: [Overload(id: "twice", parameters: [.int], result: .int)]
                ) { arguments throws(EvaluationError) in
                    guard case .int(let value) = arguments[0] else { throw EvaluationError(.noSuchOverload) }
                    return .int(2 * value)
                },
                FunctionDeclaration(
                    name: "shout",
                    overloads: [Overload(id: "shout", parameters: [.string], result: .string, isInstance: true)]
                ) { arguments throws(EvaluationError) in
                    guard case .string(let text) = arguments[0] else { throw EvaluationError(.noSuchOverload) }
                    return .string(text + "!")
                },
                FunctionDeclaration(name: "later", overloads: [Overload(id: "later", parameters: [], result: .int)]),
            ])
        let activation = SlotActivation([.int(21)])
        #expect(try environment.compile("math.twice(n)").evaluate(activation).celEquals(.int(42)))
        #expect(try environment.compile("'a'.shout()").evaluate(activation).celEquals(.string("a!")))
        #expect(throws: EvaluationError(.unboundFunction, offset: 0)) {
            try environment.compile("later()").evaluate(activation)
        }
        #expect(throws: EvaluationError(.noSuchOverload, offset: 4)) {
            try environment.compileUnchecked("1 + math.twice('a')").evaluate(activation)
        }
        #expect(throws: CompileFailure.self) { try environment.compile("math.twice('a')") }
        #expect(throws: CompileFailure.self) { try environment.compile("shout('a')") }
    }

    @Test func namesResolveFromTheContainerOutwards() throws {
        let environment = Environment(
            container: "a.b",
            variables: ["v", "a.v", "a.b.v", "w"].map { VariableDeclaration(name: $0, type: .string) })
        let activation = SlotActivation([.string("v"), .string("a.v"), .string("a.b.v"), .string("w")])
        for (source, expected) in [("v", "a.b.v"), (".v", "v"), (".a.v", "a.v"), ("w", "w"), ("b.v", "a.b.v")] {
            #expect(try environment.compile(source).evaluate(activation).celEquals(.string(expected)), "\(source)")
        }
    }
}
