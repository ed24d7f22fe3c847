import Testing

@testable import GraphQLLanguage

struct ParserTests {
    private func refusal(_ text: String, limits: ParserLimits = .default) -> SyntaxError? {
        refusal(Array(text.utf8), limits: limits)
    }

    private func refusal(_ bytes: [UInt8], limits: ParserLimits = .default) -> SyntaxError? {
        do {
            _ = try Parser.parseDocument(Source(name: "test.gql", bytes: bytes), limits: limits)
            return nil
        } catch {
            return error
        }
    }

    @Test func errorSaysWhere() throws {
        let error = try #require(refusal("{\n  e: a(x: )\n}"))
        #expect(error.code == .unexpectedToken)
        #expect(error.location == SourceLocation(line: 2, column: 11, byteOffset: 12))
        #expect(error.description == "test.gql:2:11: Unexpected ')'")
    }

    @Test func errorsShowNoContents() throws {
        #expect(
            try #require(refusal("{ a(\"secret\": 1) }")).description == "test.gql:1:5: Expected Name, found String")
        #expect(try #require(refusal("{ a(12345: 1) }")).description == "test.gql:1:5: Expected Name, found Int")
    }

    @Test(arguments: [
        ("", SyntaxError.Code.unexpectedToken), ("{ a(b: \"", .unterminatedString),
        ("{ a(b: \"\"\"", .unterminatedString),
        ("{ a(b: \"\\q\") }", .invalidEscape), ("{ a(b: 1x) }", .invalidNumber), ("{ a ? }", .unexpectedCharacter),
        ("query($a: Int = $b) { a }", .variableInConstant), ("enum E { true }", .reservedName),
        ("fragment on on T { a }", .reservedName),
    ])
    func syntaxErrorsHaveCodes(text: String, code: SyntaxError.Code) throws {
        #expect(refusal(text)?.code == code)
    }

    @Test(
        arguments: [
            [0x80], [0xC0, 0xAF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF8],
            [0xE2, 0x82],
            [0xF0, 0x9F, 0x8C], [0xC3],
        ] as [[UInt8]])
    func invalidUTF8IsRefused(sequence: [UInt8]) throws {
        let prefix = Array("{ a # é".utf8)
        let error = try #require(refusal(prefix + sequence))
        #expect(error.code == .invalidUTF8)
        #expect(error.location == SourceLocation(line: 1, column: 8, byteOffset: 8))
    }

    @Test func depthIsBounded() throws {
        let limits = ParserLimits(depthMax: 20)
        let nestings: [(String, String, String)] = [("{a", "a", "}"), ("[", "1", "]"), ("{a:", "1", "}")]
        for (open, core, close) in nestings {
            func nested(_ depth: Int) -> String {
                String(repeating: open, count: depth) + core + String(repeating: close, count: depth)
            }
            if open == "{a" {
                #expect(
                    refusal(String(repeating: "{a", count: 20) + String(repeating: "}", count: 20), limits: limits)
                        == nil)
                #expect(refusal(String(repeating: "{a", count: 21), limits: limits)?.code == .tooDeep)
            } else {
                #expect((try? Parser.parseValue(Source(text: nested(20)), limits: limits)) != nil)
                #expect(throws: SyntaxError.self) { try Parser.parseValue(Source(text: nested(21)), limits: limits) }
            }
        }
        let type = String(repeating: "[", count: 21) + "A" + String(repeating: "]", count: 21)
        #expect(throws: SyntaxError.self) { try Parser.parseType(Source(text: type), limits: limits) }
        #expect(try #require(refusal("{ a(b: [[1]]) }", limits: ParserLimits(depthMax: 2))).location.column == 9)
    }

    /// The default limit must hold long before the stack ends, in every recursive rule.
    @Test(arguments: ["{a", "{a(b:[", "{a(b:{c:", "{...", "{... on A", "query(", "type A{a:[", "type A{a(a:Int=["])
    func endlessNestingEndsInTheLimit(unit: String) throws {
        for repeated in [unit, String(unit.drop { $0 != "[" && $0 != "{" })] {
            _ = refusal(unit + String(repeating: repeated, count: 200_000 / max(repeated.count, 1)))
        }
        #expect(refusal("{a(b:" + String(repeating: "[", count: 100_000))?.code == .tooDeep)
        #expect(refusal(String(repeating: "{a", count: 100_000))?.code == .tooDeep)
        #expect(refusal("type A{a:" + String(repeating: "[", count: 100_000))?.code == .tooDeep)
    }

    @Test func tokensAndBytesAreBounded() throws {
        let limits = ParserLimits(tokensMax: 5, bytesMax: 20)
        #expect(refusal("{ a b c }", limits: limits) == nil)
        let tokens = try #require(refusal("{ a b c d }", limits: limits))
        #expect(tokens.code == .tooManyTokens)
        #expect(tokens.location.column == 11)
        #expect(refusal("{ a }" + String(repeating: " ", count: 16), limits: limits)?.code == .tooLarge)
    }

    @Test func rangesCoverTheirText() throws {
        let text = "query A($id: [ID!]! = [\"é\"]) @d(x: 1) { mine: barn(id: $id) @e { ...F @g ... on T { a } } } # end"
        let source = Source(text: text)
        func slice(_ range: SourceRange) -> String {
            String(decoding: source.bytes[range.start..<range.end], as: UTF8.self)
        }
        let document = try Parser.parseDocument(source)
        let operation = try #require(document.operations.first)
        #expect(slice(document.range) == String(text.dropLast(6)))
        #expect(slice(operation.range) == String(text.dropLast(6)))
        #expect(slice(try #require(operation.name).range) == "A")
        let variable = operation.variables[0]
        #expect(slice(variable.range) == "$id: [ID!]! = [\"é\"]")
        #expect(slice(variable.name.range) == "$id")
        #expect(slice(variable.type.range) == "[ID!]!")
        #expect(slice(try #require(variable.defaultValue).range) == "[\"é\"]")
        #expect(slice(operation.directives[0].range) == "@d(x: 1)")
        #expect(slice(operation.directives[0].arguments[0].range) == "x: 1")
        guard case .field(let field) = operation.selectionSet.selections[0] else {
            Issue.record("no field")
            return
        }
        #expect(slice(field.range) == "mine: barn(id: $id) @e { ...F @g ... on T { a } }")
        #expect(field.selectionSet?.selections.map { slice($0.range) } == ["...F @g", "... on T { a }"])
        #expect(field.responseKey == "mine")
        #expect(field.arguments.value(of: "id")?.variableName == "id")
    }

    @Test func locationsCountScalars() throws {
        let source = Source(text: "a\r\né🌾b\rc\n\u{FEFF}d")
        let map = SourceMap(source)
        let places = (0...source.bytes.count).map { map.location(at: $0) }
        #expect(places[0].description == "1:1")
        #expect(places[3].description == "2:1")
        #expect(places[5].description == "2:2")
        #expect(places[9].description == "2:3")
        #expect(places[11].description == "3:1")
        #expect(places[16].description == "4:2")
        #expect(map.location(at: 10_000).byteOffset == source.bytes.count)
        #expect(source.location(at: 9) == places[9])
    }

    @Test func typeReferencesNest() throws {
        let type = try Parser.parseType(Source(text: " [ [ Oat ! ] ] ! "))
        #expect(type.description == "[[Oat!]]!")
        #expect(type.isNonNull)
        #expect(type.namedType == "Oat")
        #expect(type.nullable.description == "[[Oat!]]")
        #expect(type.listElement?.listElement?.description == "Oat!")
    }
}
