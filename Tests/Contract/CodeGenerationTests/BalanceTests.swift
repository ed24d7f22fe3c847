import CodeGeneration
import Testing

/// Kotlin and Dart, for which no compiler is at hand, at least have their brackets in pairs outside strings and
/// comments.
@Suite struct BalanceTests {
    /// Returns a description of the first problem; nil if all brackets match.
    static func problem(in text: String) -> String? {
        var open: [(bracket: Character, line: Int)] = []
        let pairs: [Character: Character] = [")": "(", "]": "[", "}": "{"]
        var line = 1
        var rest = Substring(text)
        while let character = rest.first {
            if rest.hasPrefix("//") {
                rest = rest.drop { $0 != "\n" }
                continue
            }
            if rest.hasPrefix("/*") {
                guard let end = rest.firstRange(of: "*/") else { return "comment without end in line \(line)" }
                line += rest[..<end.lowerBound].count { $0 == "\n" }
                rest = rest[end.upperBound...]
                continue
            }
            rest = rest.dropFirst()
            switch character {
            case "\n": line += 1
            case "\"", "'":
                var isEscaped = false
                while let next = rest.first, isEscaped || next != character {
                    if next == "\n" { return "string without end in line \(line)" }
                    isEscaped = !isEscaped && next == "\\"
                    rest = rest.dropFirst()
                }
                rest = rest.dropFirst()
            case "(", "[", "{": open.append((character, line))
            case ")", "]", "}":
                guard let last = open.popLast(), last.bracket == pairs[character] else {
                    return "\(character) without its partner in line \(line)"
                }
            default: continue
            }
        }
        return open.last.map { "\($0.bracket) of line \($0.line) stays open" }
    }

    @Test(arguments: ["kotlin", "dart", "swift", "swift-firebase"])
    func bracketsMatch(_ output: String) throws {
        for file in try #require(try Gallery.outputs()[output]) where !file.path.hasSuffix(".md") {
            #expect(Self.problem(in: file.text) == nil, "\(output)/\(file.path)")
        }
    }

    @Test func theCheckFindsWhatItLooksFor() {
        #expect(Self.problem(in: "a(b[c]{d})") == nil)
        #expect(Self.problem(in: "a '(' /* ( */ // (\n") == nil)
        #expect(Self.problem(in: "a(b\n]") == "] without its partner in line 2")
        #expect(Self.problem(in: "a(\n{}") == "( of line 1 stays open")
    }
}
