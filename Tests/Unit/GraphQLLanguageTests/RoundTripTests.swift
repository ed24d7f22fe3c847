import JSON
import SeededRandom
import TestSupport
import Testing

@testable import GraphQLLanguage

/// parse(print(x)) is x, positions aside.
struct RoundTripTests {
    @Test func generatedDocumentsSurviveARoundTrip() throws {
        print("seed \(SeededRandom.seed)")
        for number in 0..<600 {
            var generator = DocumentGenerator(seed: SeededRandom.seed &+ UInt64(number))
            try expectRoundTrip(generator.document(), "generated document \(number)")
        }
    }

    @Test(.vectors("graphql")) func documentsOfTheVectorsSurviveARoundTrip() throws {
        for file in ["executable", "sdl"] {
            for line in try ConformanceVectors.lines(of: "graphql/\(file).jsonl") {
                let vector = try JSONParser.parse(line)
                guard vector["expect"]?["ast"] != nil else { continue }
                let text = try #require(vector["source"]?.stringValue)
                try expectRoundTrip(try Parser.parseDocument(Source(text: text)), text)
            }
        }
        for name in ["kitchen-sink", "schema-kitchen-sink"] {
            let bytes = try ConformanceVectors.bytes(of: "graphql/\(name).graphql")
            try expectRoundTrip(try Parser.parseDocument(Source(name: name, bytes: bytes)), name)
        }
    }

    private func expectRoundTrip(_ document: Document, _ comment: String) throws {
        let pretty = Printer.print(document)
        let fromPretty = try Parser.parseDocument(Source(text: pretty))
        #expect(
            ReferenceTree().document(fromPretty) == ReferenceTree().document(document), "\(comment):\n\(pretty)")
        #expect(Printer.print(fromPretty) == pretty, "\(comment): pretty print is not stable")

        let compact = Printer.print(document, style: .compact)
        let fromCompact = try Parser.parseDocument(Source(text: compact))
        let unquoted = ReferenceTree(keepsBlock: false)
        #expect(unquoted.document(fromCompact) == unquoted.document(document), "\(comment):\n\(compact)")
        #expect(Printer.print(fromPretty, style: .compact) == compact, "\(comment)")
        #expect(!compact.contains("\n"), "\(comment)")
    }

    @Test func everyBlockStringValueCanBeWritten() throws {
        for number in 0..<5_000 {
            var generator = DocumentGenerator(seed: SeededRandom.seed &+ UInt64(number))
            let value = generator.blockText()
            for indent in ["", "  ", "        "] {
                let raw = try #require(BlockString.raw(for: value, indent: indent), "value \(value.debugDescription)")
                let read = try Parser.parseConstValue(Source(text: "\"\"\"\(raw)\"\"\""))
                #expect(read.stringValue == value)
            }
        }
    }

    /// The first line keeps its indentation and does not count towards the common one.
    @Test func theFirstLineOfABlockStringKeepsItsIndentation() throws {
        #expect(BlockString.value(ofRaw: Array("oats\n    rye\n  bran".utf8)) == "oats\n  rye\nbran")
        #expect(BlockString.value(ofRaw: Array("  oats\n    rye".utf8)) == "  oats\nrye")
    }

    @Test(arguments: ["\rtext", "\n", "  a\n  b", "a\n", "  \na"])
    func stringsThatNoBlockStringHoldsAreQuoted(value: String) throws {
        let printed = Printer.print(Value(.string(value, block: true)))
        #expect(!printed.hasPrefix("\"\"\""))
        #expect(try Parser.parseValue(Source(text: printed)).stringValue == value)
    }

    @Test func numbersOfAnyLengthAreKept() throws {
        let digits = String(repeating: "9", count: 400)
        #expect(try Parser.parseValue(Source(text: digits)).description == digits)
        #expect(try Parser.parseValue(Source(text: digits)).intValue == nil)
        #expect(try Parser.parseValue(Source(text: digits)).doubleValue == nil)
        #expect(try Parser.parseValue(Source(text: "-12")).intValue == -12)
        #expect(try Parser.parseValue(Source(text: "1.5e2")).doubleValue == 150)
    }
}
