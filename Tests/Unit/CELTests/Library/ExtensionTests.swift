import CEL
import Testing

/// Parts of the extension libraries that the vectors leave out: lists, and the bounds.
@Suite struct ExtensionTests {
    @Test(arguments: [
        "lists.range(3) == [0, 1, 2]", "lists.range(0) == []", "[1, 2, 3, 4].slice(1, 3) == [2, 3]",
        "[[1], [2, [3]]].flatten() == [1, 2, [3]]", "[[1], [2, [3]]].flatten(2) == [1, 2, 3]",
        "[1, 1.0, 2, [3], [3]].distinct() == [1, 2, [3]]", "['b', 'a', 'c'].sort() == ['a', 'b', 'c']",
        "[{'n': 2}, {'n': 1}].sortBy(e, e.n).map(e, e.n) == [1, 2]", "[3, 1].reverse() == [1, 3]",
        "'añb'.reverse() == 'bña'", "[].first() == optional.none() && [1, 2].last().value() == 2",
        "'a,b,,c'.split(',') == ['a', 'b', '', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c']",
        "'abc'.split('') == ['a', 'b', 'c'] && ''.split('') == []", "'aaa'.replace('a', 'b', 2) == 'bba'",
        "'ab'.replace('', '-') == '-a-b-'", "['x', 'y'].join(', ') == 'x, y'",
        "cel.bind(y, [1, 2], y.map(e, e + size(y))) == [3, 4]",
        "cel.bind(y, 1, cel.bind(y, y + 1, y) + y) == 3", "math.greatest([1, 5.5, 2u]) == 5.5",
        "math.bitShiftRight(-1, 63) == 1", "base64.decode(base64.encode(b'\\x00\\xff\\x10')) == b'\\x00\\xff\\x10'",
        "[optional.of(1), optional.none()].unwrapOpt() == [1]", "type(optional.none()) == optional_type",
        "{}.?a.?b.orValue('c') == 'c'",
    ])
    func extensionFunctionsReturnWhatTheyPromise(_ source: String) throws {
        #expect(try isTrue(source))
        #expect(diagnostics(source).isEmpty)
    }

    @Test(
        arguments: [
            ("lists.range(-1)", .invalidArgument), ("lists.range(100001)", .sizeExceeded),
            ("[1].slice(0, 2)", .indexOutOfRange),
            ("[1, 'a'].sort()", .noSuchOverload), ("optional.none().value()", .invalidArgument),
            ("'%.101f'.format([1.0])", .invalidArgument), ("'%s'.format([])", .invalidArgument),
            ("base64.decode('a')", .invalidArgument), ("math.abs(-9223372036854775808)", .overflow),
            ("lists.range(1000).map(i, lists.range(1000)).flatten().size() > 0", .costExceeded),
        ] as [(String, EvaluationError.Code)])
    func extensionFunctionsRefuseBadArguments(_ source: String, _ code: EvaluationError.Code) throws {
        #expect(try errorCode(source) == code)
    }

    /// Doubling by `replace` and `join` ends at the limits, not at the memory of the machine.
    @Test func growthIsBounded() throws {
        var text = "'aaaaaaaaaaaaaaaa'"
        for _ in 0..<8 { text = "\(text).replace('a', 'aaaaaaaa')" }
        let code = try errorCode(text)
        #expect(code == .sizeExceeded || code == .costExceeded)
    }

    /// A name given to an attribute reads all of it, so nothing that decides is missed.
    @Test func namesOfAttributesAreReads() throws {
        let program = try conditions.compile("cel.bind(a, request.auth, a.uid == mutation.?auth.?uid.orValue(''))")
        #expect(program.attributes.map(\.description) == ["mutation", "request.auth"])
        let empty = object([:])
        let signedOut = object(["auth": .null])
        #expect(
            try errorCode("request.auth.?uid.hasValue()", request: signedOut, mutation: empty) == nil)
    }
}
