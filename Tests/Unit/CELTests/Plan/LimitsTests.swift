import CEL
import Testing

@Suite struct LimitsTests {
    private let thousand = Value.list((0..<1000).map { .int($0) })

    @Test func nestedLoopsEnd() throws {
        #expect(try errorCode("x.all(a, x.all(b, x.all(c, a + b + c >= 0)))", x: thousand) == .costExceeded)
        // Spent cost stays spent: a later operand does not decide after all.
        #expect(try errorCode("x.all(a, x.all(b, x.all(c, true))) || true", x: thousand) == .costExceeded)
        #expect(try errorCode("x.exists(d, x.all(a, x.all(b, a >= 0)) && false)", x: thousand) == .costExceeded)
        #expect(try errorCode("x.all(a, a in x) || [1, 2].all(b, b in x)", x: thousand) == .costExceeded)
        #expect(try errorCode("x.all(a, [1, 2].exists(b, b != a))", x: thousand) == nil)
    }

    @Test func membershipAndEqualityAddToTheCost() throws {
        #expect(try errorCode("x.all(a, x.all(b, !(-1 in x)))", x: thousand) == .costExceeded)
        #expect(try errorCode("x.all(a, x.all(b, x == x))", x: thousand) == .costExceeded)
    }

    @Test func sharedStructureIsNotComparedWithoutEnd() throws {
        // Each step doubles the size that a comparison sees, not the memory in use.
        let doubling = "[1]" + String(repeating: ".map(a, [a, a])", count: 60)
        #expect(try errorCode("\(doubling) == \(doubling)") == .costExceeded)
    }

    @Test func textsAndListsDoNotGrowWithoutEnd() throws {
        let text = Value.string(String(repeating: "a", count: 700_000))
        #expect(try errorCode("x + x", x: text) == .sizeExceeded)
        #expect(
            try errorCode("x.map(a, x + x + x)", x: .list(Array(repeating: .int(0), count: 40_000))) == .sizeExceeded)
        let bytes = Value.bytes(Array(repeating: 1, count: 700_000))
        #expect(try errorCode("x + x", x: bytes) == .sizeExceeded)
        let names = Value.list(Array(repeating: .string(String(repeating: "a", count: 1000)), count: 1000))
        #expect(try errorCode("x.map(a, x.map(b, a + b + a + b))", x: names) == .costExceeded)
    }

    @Test func valuesDoNotNestWithoutEnd() {
        let mapped = "[1]" + String(repeating: ".map(a, [[a]])", count: 90)
        #expect(diagnostics(mapped).first?.hasSuffix("the expression makes values that are nested too deeply") == true)
    }

    @Test func deepInputsAreComparedToALimit() throws {
        var deep = Value.int(1)
        for _ in 0..<2_000 { deep = .list([deep]) }
        #expect(try errorCode("x == x", x: deep) == .sizeExceeded)
        #expect(!deep.celEquals(deep))
    }

    @Test func patternsAreBounded() throws {
        for pattern in [
            "(((a{1000}){1000}){1000})", "((((){1000}){1000}){1000})", String(repeating: "a", count: 2_000),
        ] {
            #expect(diagnostics("'a'.matches('\(pattern)')").count == 1, "\(pattern.prefix(30))")
            #expect(try errorCode("'a'.matches(dyn('\(pattern)'))") == .invalidArgument)
        }
        let nested = String(repeating: "(", count: 500) + String(repeating: ")", count: 500)
        #expect(try errorCode("'a'.matches(dyn('\(nested)'))") == .invalidArgument)
        let text = Value.string(String(repeating: "a", count: 5_000))
        #expect(try evaluate("x.matches('(a*)*(a|a)*b$')", x: text).celEquals(.bool(false)))
        let long = Value.string(String(repeating: "a", count: 900_000))
        #expect(try errorCode("x.matches('(a?){100}b')", x: long) == .costExceeded)
    }

    @Test func limitsAreSettable() throws {
        var limits = Limits()
        limits.costMax = 10
        limits.diagnosticsMax = 2
        let environment = Environment(variables: [VariableDeclaration(name: "x", type: .dyn)], limits: limits)
        let program = try environment.compile("x.all(e, e > 0)")
        let list = Value.list(Array(repeating: .int(1), count: 11))
        #expect(throws: EvaluationError(.costExceeded, offset: 0)) { try program.evaluate(SlotActivation([list])) }
        #expect(diagnostics("a + b + c + d", in: environment).count == 2)
    }
}
