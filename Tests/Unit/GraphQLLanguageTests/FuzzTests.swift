import SeededRandom
import TestSupport
import Testing

@testable import GraphQLLanguage

/// No input crashes or hangs the parser, and what it accepts prints and parses back.
struct FuzzTests {
    private static let corpus: [[UInt8]] = {
        let texts = [
            """
            query A($id: ID! = "x") @d { a: b(c: [1, 2.5e3, {d: $id}]) { ...F ... on T @s { e } } }
            fragment F on T { x }
            """,
            #"""
            """
              about
            """ type T implements A & B @d(x: "\u{1F33E}\uD83C\uDF3E\n") { "f" f(a: Int = -1): [T!]! }
            """#,
            "extend schema @x { query: Q } union U = | A | B enum E { A B @d } input I { a: Int = {b: null} } scalar S",
            "directive @d(a: Int) repeatable on FIELD | QUERY",
            "subscription { s(e: E, t: true) } # comment é\r\n interface I",
        ]
        let files = ["kitchen-sink", "schema-kitchen-sink"].compactMap {
            try? ConformanceVectors.bytes(of: "graphql/\($0).graphql")
        }
        return texts.map { Array($0.utf8) } + files
    }()

    private func check(_ bytes: [UInt8]) throws -> Bool {
        let source = Source(bytes: bytes)
        guard let document = try? Parser.parseDocument(source) else { return false }
        let compact = Printer.print(document, style: .compact)
        let again = try Parser.parseDocument(Source(text: compact))
        #expect(Printer.print(again, style: .compact) == compact, "\(bytes)")
        return true
    }

    @Test func randomBytesNeverTrap() throws {
        print("seed \(SeededRandom.seed)")
        var random = SeededRandom(seed: SeededRandom.seed)
        for _ in 0..<4_000 {
            let bytes = (0..<random.below(80)).map { _ in UInt8(random.below(256)) }
            _ = try check(bytes)
        }
    }

    @Test func randomTokensNeverTrap() throws {
        var random = SeededRandom(seed: SeededRandom.seed &+ 1)
        let words = [
            "{", "}", "(", ")", "[", "]", "!", "$", "&", "|", "...", ":", "=", "@", "a", "on", "query", "type", "\"x\"",
            "\"\"\"y\"\"\"", "1", "-2.5e3", "fragment", "extend", "input", "enum", "union", "directive", "implements",
            "true", "null", "#", "\n", "\"", "\\", "\u{FEFF}",
        ]
        var accepted = 0
        for _ in 0..<6_000 {
            let text = (0..<random.below(14)).map { _ in words.randomElement(using: &random)! }.joined(separator: " ")
            if try check(Array(text.utf8)) { accepted += 1 }
        }
        #expect(accepted > 0)
    }

    @Test func changedDocumentsNeverTrap() throws {
        var random = SeededRandom(seed: SeededRandom.seed &+ 2)
        var accepted = 0
        for _ in 0..<3_000 {
            var bytes = Self.corpus.randomElement(using: &random)!
            for _ in 0...random.below(3) where !bytes.isEmpty {
                let at = random.below(bytes.count)
                switch random.below(5) {
                case 0: bytes.remove(at: at)
                case 1: bytes.insert(UInt8(random.below(256)), at: at)
                case 2: bytes[at] = UInt8(random.below(256))
                case 3: bytes.swapAt(at, random.below(bytes.count))
                default: bytes.removeSubrange(at...)
                }
            }
            if try check(bytes) { accepted += 1 }
        }
        #expect(accepted > 0)
    }
}

extension Source {
    fileprivate init(bytes: [UInt8]) {
        self.init(name: "fuzz", bytes: bytes)
    }
}
