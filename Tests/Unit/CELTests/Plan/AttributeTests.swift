import CEL
import Testing

@Suite struct AttributeTests {
    private func attributes(_ source: String) throws -> [String] {
        try conditions.compile(source).attributes.map(\.description)
    }

    @Test(arguments: [
        ("1 == 1", []),
        ("request.auth.token.org == 'a'", ["request.auth.token.org"]),
        ("request.auth.uid == mutation.auth.uid || request.auth.uid == ''", ["mutation.auth.uid", "request.auth.uid"]),
        ("request.auth['uid'] == request['auth'].uid", ["request.auth.uid"]),
        ("has(request.auth.token)", ["request.auth.token"]),
        ("request.variables[mutation.operationName].id == 1", ["mutation.operationName", "request.variables"]),
        ("request.variables.ids[0] == 1", ["request.variables.ids"]),
        (
            "request.variables.tags.exists(t, t == mutation.variables.tag)",
            ["mutation.variables.tag", "request.variables.tags"]
        ),
        ("[1].exists(request, request == 1)", []),
        ("[{'a': 1}].exists(x, x.a == 1)", []),
        ("false && x.a", ["x.a"]),
        ("request == x", ["request", "x"]),
        ("(request.auth).uid == 1", ["request.auth.uid"]),
        ("request.`a.b`.c == 1", ["request.a.b.c"]),
    ])
    func programsListTheAttributesTheyRead(source: String, expected: [String]) throws {
        #expect(try attributes(source) == expected)
    }

    @Test func fieldsKeepTheirDots() throws {
        let path = try #require(conditions.compile("request.`a.b`.c == 1").attributes.first)
        #expect(path == AttributePath(root: "request", fields: ["a.b", "c"]))
    }

    @Test func variablesMayHaveDottedNames() throws {
        let environment = Environment(
            variables: [VariableDeclaration(name: "auth.token", type: .dyn)], nullSafePaths: [["auth", "token", "org"]])
        let program = try environment.compile("auth.token.org.id == null")
        #expect(program.attributes == [AttributePath(root: "auth.token", fields: ["org", "id"])])
        #expect(try program.evaluate(SlotActivation([object(["org": .null])])).celEquals(.bool(true)))
    }

    @Test func conditionsSplitIntoConjuncts() throws {
        let source = """
            request.variables.id == mutation.variables.id && ('a' == x.b && x == nil) && (x.c || x.d) && has(x.e)
            """
        let conjuncts = try conditions.compile(source).conjuncts
        #expect(
            conjuncts.map(\.program.source) == [
                "request.variables.id == mutation.variables.id", "'a' == x.b", "x == nil", "x.c || x.d", "has(x.e)",
            ])
        #expect(
            conjuncts.map { $0.program.attributes.map(\.description) } == [
                ["mutation.variables.id", "request.variables.id"], ["x.b"], ["x"], ["x.c", "x.d"], ["x.e"],
            ])
        guard case .attributesEqual(let left, let right) = conjuncts[0].kind else {
            Issue.record("kind of first")
            return
        }
        #expect(left == AttributePath(root: "request", fields: ["variables", "id"]))
        #expect(right == AttributePath(root: "mutation", fields: ["variables", "id"]))
        guard case .attributeEqualsConstant(let path, .string("a")) = conjuncts[1].kind else {
            Issue.record("kind of second")
            return
        }
        #expect(path == AttributePath(root: "x", fields: ["b"]))
        guard case .attributeEqualsConstant(_, .null) = conjuncts[2].kind else {
            Issue.record("kind of third")
            return
        }
        for conjunct in conjuncts[3...] {
            guard case .other = conjunct.kind else {
                Issue.record("kind of \(conjunct.program.source)")
                return
            }
        }
    }

    @Test func conjunctsEvaluateAlone() throws {
        let conjuncts = try conditions.compile("x.a == 1 && x.b.exists(e, e == 2)").conjuncts
        let x = object(["a": .int(0), "b": .list([.int(2)])])
        let values = try conjuncts.map { try $0.program.evaluate(SlotActivation([nil, nil, x])) }
        #expect(values[0].celEquals(.bool(false)))
        #expect(values[1].celEquals(.bool(true)))
        #expect(conjuncts[1].program.conjuncts.count == 1)
        #expect(conjuncts[1].program.conjuncts[0].program.source == "x.b.exists(e, e == 2)")
    }

    @Test func aProgramWithoutConjunctionIsItsOnlyConjunct() throws {
        let conjuncts = try conditions.compile("x.a == mutation.b").conjuncts
        #expect(conjuncts.count == 1)
        guard case .attributesEqual = conjuncts[0].kind else {
            Issue.record("kind")
            return
        }
    }

    @Test(arguments: [
        ("request.auth.uid == nil", true), ("request.auth.token.a.b == null", true), ("has(request.auth.uid)", false),
        ("has(request.auth.token.a)", false), ("request.auth.uid != nil", false), ("request.auth['uid'] == null", true),
        ("request.auth.list[0] == null", true), ("request.auth.token[request.name].x == null", true),
        ("request.auth == null", true), ("request.auth.uid == 'u'", false),
        ("has(request.auth.token[request.name].x)", false),
    ])
    func belowANullSafePathNullIsNoError(source: String, expected: Bool) throws {
        let request = object(["auth": .null, "name": .string("n")])
        #expect(try evaluate(source, request: request).celEquals(.bool(expected)))
    }

    @Test func elsewhereNullHasNoFields() throws {
        let request = object(["auth": object(["uid": .string("u"), "token": .null]), "other": .null])
        #expect(try errorCode("request.other.uid", request: request) == .noSuchOverload)
        #expect(try errorCode("request.auth.token.a", request: request) == .noSuchOverload)
        #expect(try errorCode("request.auth.missing", request: request) == .noSuchKey)
        #expect(try evaluate("request.auth.uid", request: request).celEquals(.string("u")))
        #expect(try errorCode("has(request.missing.a)", request: request) == .noSuchKey)
    }

    @Test func readersReadOneAttribute() throws {
        let request = object(["auth": .null, "variables": object(["id": .int(7)])])
        let activation = SlotActivation([request])
        let id = try #require(conditions.reader(for: AttributePath(root: "request", fields: ["variables", "id"])))
        #expect(try id.value(in: activation).celEquals(.int(7)))
        let uid = try #require(conditions.reader(for: AttributePath(root: "request", fields: ["auth", "uid"])))
        #expect(try uid.value(in: activation).celEquals(.null))
        let missing = try #require(conditions.reader(for: AttributePath(root: "mutation", fields: [])))
        #expect(throws: EvaluationError.self) { try missing.value(in: activation) }
        #expect(conditions.reader(for: AttributePath(root: "nope", fields: [])) == nil)
    }

    @Test func nilIsAWordOnlyWhereAllowed() throws {
        let strict = Environment(variables: [])
        #expect(diagnostics("nil == null", in: strict) == ["1:1: undeclared reference to 'nil' (in container '')"])
        #expect(try evaluate("nil == null").celEquals(.bool(true)))
        #expect(try evaluate("[1].exists(nil, nil == 1)").celEquals(.bool(true)))
    }
}
