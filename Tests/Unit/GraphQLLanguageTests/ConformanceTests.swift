import JSON
import TestSupport
import Testing

@testable import GraphQLLanguage

/// The vectors in `conformance/graphql`, read in place. Nothing of them is skipped.
struct GraphQLConformanceTests {
    @Test(.vectors("graphql"), arguments: ConformanceVectors.files(in: "graphql", ending: ".jsonl"))
    func vectorsOfGraphQLJSPass(file: String) throws {
        let cases = try ConformanceVectors.lines(of: file).map { try JSONParser.parse($0) }
        var failures: [String] = []
        for vector in cases {
            if let failure = try Self.failure(of: vector) {
                failures.append("\(vector["group"] ?? nil)/\(vector["name"] ?? nil): \(failure)")
            }
        }
        #expect(!cases.isEmpty)
        #expect(failures == [])
    }

    @Test(.vectors("graphql"), arguments: ConformanceVectors.files(in: "graphql", ending: ".graphql"))
    func kitchenSinksParseToTheirTrees(file: String) throws {
        let bytes = try ConformanceVectors.bytes(of: file)
        let tree = file.replacing(".graphql", with: ".ast.json")
        let expectation = try JSONParser.parse(try ConformanceVectors.bytes(of: tree))
        let source = Source(name: file, bytes: bytes)
        #expect(try tokens(of: source).count == expectation["tokens"]?.intValue.map { Int($0) })
        let document = try Parser.parseDocument(source)
        #expect(ReferenceTree().document(document) == expectation["ast"])
    }

    /// The mistake in the outcome of one vector, nil if there is none.
    private static func failure(of vector: JSONValue) throws -> String? {
        let text = try #require(vector["source"]?.stringValue)
        let kind = try #require(vector["kind"]?.stringValue)
        let expect = try #require(vector["expect"])
        let outcome: JSONValue
        do {
            outcome = try self.outcome(kind: kind, text: text)
        } catch let error as SyntaxError {
            guard let expected = expect["error"] else { return "refused: \(error)" }
            guard let line = expected["line"]?.intValue else { return nil }
            let isThere =
                error.location.line == Int(line)
                && error.location.column == expected["column"]?.intValue.map { Int($0) }
            return isThere ? nil : "error at \(error.location), expected \(expected)"
        }
        guard expect["error"] == nil else { return "accepted as \(outcome)" }
        return outcome == expect ? nil : "is \(outcome), expected \(expect)"
    }

    private static func outcome(kind: String, text: String) throws -> JSONValue {
        let source = Source(text: text)
        switch kind {
        case "lex": return ["tokens": .array(try tokens(of: source))]
        case "document": return ["ast": ReferenceTree().document(try Parser.parseDocument(source))]
        case "value": return ["ast": ReferenceTree().value(try Parser.parseValue(source))]
        case "constValue": return ["ast": ReferenceTree().value(try Parser.parseConstValue(source))]
        case "type": return ["ast": ReferenceTree().type(try Parser.parseType(source))]
        case "blockString":
            let value = try Parser.parseValue(Source(text: "\"\"\"\(text)\"\"\""))
            return ["value": .string(try #require(value.stringValue))]
        default:
            Issue.record("unknown kind \(kind)")
            return nil
        }
    }
}

/// All tokens as the vectors list them: offsets in Unicode scalars.
private func tokens(of source: Source) throws(SyntaxError) -> [JSONValue] {
    var lexer = try Lexer(source, limits: .default)
    var tokens: [JSONValue] = []
    let map = SourceMap(source)
    while true {
        let token = try lexer.next()
        guard token.kind != .endOfFile else { return tokens }
        let location = map.location(at: token.start)
        var tree: JSONObject = [
            "kind": .string(token.kind.rawValue), "start": scalars(before: token.start, in: source),
            "end": scalars(before: token.end, in: source), "line": .int(Int64(location.line)),
            "column": .int(Int64(location.column)),
        ]
        switch token.kind {
        case .name, .int, .float, .string, .blockString: tree["value"] = .string(token.value)
        default: break
        }
        tokens.append(.object(tree))
    }
}

private func scalars(before offset: Int, in source: Source) -> JSONValue {
    .int(Int64(source.bytes[..<offset].count { $0 & 0xC0 != 0x80 }))
}
