import CEL
import Testing

@Suite struct EvaluationTests {
    @Test(arguments: [
        "1 / 0 == 1 || true", "true || 1 / 0 == 1", "!(1 / 0 == 1 && false)", "!(false && 1 / 0 == 1)",
        "1 || true", "!('a' && false)", "nope || true", "nope() || true", "x.a || x.b || true",
        "[1, 0].exists(e, 1 / e == 1)", "[0, 1].exists(e, 1 / e == 1)", "!([0, 1].all(e, 1 / e == 2))",
        "true ? true : 1 / 0 == 1", "[0].map(e, e == 1, 1 / e).size() == 0",
    ])
    func decidingOperandsAbsorbErrors(source: String) throws {
        #expect(try isTrue(source))
    }

    @Test(arguments: [
        ("1 / 0 == 1 || false", EvaluationError.Code.divisionByZero), ("true && 1 / 0 == 1", .divisionByZero),
        ("1 || false", .noSuchOverload), ("true && 'a'", .noSuchOverload), ("1 ? 2 : 3", .noSuchOverload),
        ("[0, 0].exists(e, 1 / e == 1)", .divisionByZero), ("[0, 1].exists_one(e, 1 / e == 1)", .divisionByZero),
        ("[1, 2].all(e, e)", .noSuchOverload), ("[1].filter(e, 1)", .noSuchOverload), ("1.5 % 2.0", .noSuchOverload),
        ("nope", .noSuchAttribute), ("nope()", .noSuchOverload), ("[1][1]", .indexOutOfRange),
        ("[1][-1]", .indexOutOfRange), ("[1][dyn(0.5)]", .invalidArgument), ("[1]['a']", .noSuchOverload),
        ("{'a': 1}.b", .noSuchKey), ("{'a': 1}[1]", .noSuchKey), ("{1: 1, 1u: 2}", .repeatedKey),
        ("{1.5: 1}", .unsupportedKeyType), ("(1).all(e, true)", .noSuchOverload), ("1 in 2", .noSuchOverload),
        ("9223372036854775807 + 1", .overflow), ("0u - 1u", .overflow), ("-9223372036854775808 % -1", .overflow),
        ("int('1.5')", .invalidConversion), ("uint('+1')", .invalidConversion), ("uint(-0.5)", .rangeError),
        ("int(0.0 / 0.0)", .rangeError), ("int(9223372036854775808.0)", .rangeError), ("double('1e999')", .rangeError),
        ("string(b'\\xff')", .invalidConversion), ("bool('yes')", .invalidConversion),
        ("'a'.matches(dyn('['))", .invalidArgument), ("timestamp('2020-02-30T00:00:00Z')", .invalidConversion),
        ("timestamp(0).getHours('Nowhere/Land')", .invalidArgument), ("duration('1')", .invalidConversion),
        ("'a' < 1", .noSuchOverload), ("[1] < [2]", .noSuchOverload), ("-'a'", .noSuchOverload),
    ])
    func failedEvaluationsHaveCodes(source: String, expected: EvaluationError.Code) throws {
        #expect(try errorCode(source) == expected)
    }

    @Test func errorsHaveThePlaceOfTheOperation() throws {
        let program = try conditions.compile("true && 1 == [2][\n  5]")
        #expect(throws: EvaluationError(.indexOutOfRange, offset: 13)) { try program.evaluate(SlotActivation([])) }
    }

    @Test(arguments: [
        "{'a': 1}.map(k, k) == ['a']", "[1, 2, 3].filter(e, e > 1) == [2, 3]",
        "[[1, 2], [3]].map(l, l.map(e, e + 1)) == [[2, 3], [4]]",
        "[1, 2].exists(a, [2, 3].exists(b, a == b))", "[1, 2].map(a, [3].map(b, a + b)) == [[4], [5]]",
        "[1, 2].map(a, a > 1, a * 10) == [20]", "{1: 'a', 2u: 'b', true: 'c'}[1.0] == 'a'", "dyn(2.0) in {2: 1}",
        "'b' in {'a': 1, 'b': 2}", "2 in [1, 2.0]", "[1.0, 2u] == [1, 2]", "{'a': [1]} == {'a': [1u]}",
        "has({'a': {'b': 1}}.a.b)", "!has({'a': {}}.a.b)", "[1, 2][dyn(1u)] == 2", "[1, 2][dyn(1.0)] == 2",
        "size('é😀') == 2", "b'abc'.size() == 3", "'abc'.contains('bc')",
        "'aabaab'.contains('aab') && !'aabaa'.contains('aaa')",
        "type(null) == null_type", "type(type(1)) == type", "string(1e21) == '1e+21'", "string(100000.0) == '100000'",
        "string(0.0001) == '0.0001'", "string(0.00001) == '1e-05'", "string(-0.0) == '-0'",
        "string(1.5e300) == '1.5e+300'",
        "string(123456789012345680000.0) == '123456789012345680000'", "double('-inf') < 0.0", "string(true) == 'true'",
        "!(0.0 / 0.0 == 0.0 / 0.0)", "0.0 / 0.0 != 0.0 / 0.0", "-0.0 == 0.0", "!(0.0 / 0.0 < 1.0)",
        "!(0.0 / 0.0 >= 1.0)",
        "dyn(9007199254740993) != 9007199254740992.0", "dyn(9007199254740993) == 9007199254740993u",
        "'\\u00e9' != 'e\\u0301'", "{'\\u00e9': 1, 'e\\u0301': 2}.size() == 2", "'\\uffff' < '\\U00010000'",
    ])
    func expressionsHaveTheirValues(source: String) throws {
        #expect(try isTrue(source))
    }
}
