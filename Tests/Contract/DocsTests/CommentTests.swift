import Foundation
import TestSupport
import Testing

/// Comments begin with what a thing is or does, in plain English.
@Suite struct CommentTests {
    private struct Line {
        let place: String
        /// Without indentation.
        let text: Substring
        let isFirstOfComment: Bool
    }

    /// Words that begin a comment without its noun: prepositions, as in "Of a shard", and pronouns and verbs, as in
    /// "What is kept" or "Is asked once". "At most" and the like are quantities. Comments inside functions say why, so
    /// only `// Of` is refused there.
    private static var start: Regex<Substring> {
        #/
        // \ Of \b
        | /// \ (?: What | Who | Where | Is | Does | Has | Those | Not
        | Of | For | In | At (?! \ (?: most | least ) \b ) | On | With | Without | By | From | To
        | As (?! \ many ) | Under | Below | After | Before | Until | Between | Beside | About | Per | Like | Over
        | Likewise ) \b
        /#
    }
    private static var dialect: Regex<Substring> { #/(?i)\b(?:anew|whoever|thereof|wherefore|whence|told)\b/# }

    private static var riddle: Regex<Substring> {
        #/
        \bfunc \ (?: what | who | where | when | it ) [A-Z] \w*
        | @ (?: Test | Suite ) \( \s* "
        (?i: what | who | where | when | it | of | while | with | without | after | before | on | in | for | from )
        \b [^"]*
        /#
    }

    /// Lines of Swift files with a comment.
    private static func comments() throws -> [Line] {
        var found: [Line] = []
        for folder in ["Sources", "Tests"] {
            for file in Repository.files(below: folder, ending: ".swift")
            where !file.hasPrefix("Tests/Contract/DocsTests/") {
                var former = Substring()
                let lines = try Repository.text(file).split(separator: "\n", omittingEmptySubsequences: false)
                for (index, line) in lines.enumerated() {
                    let text = line.drop { $0 == " " }
                    if text.hasPrefix("//") {
                        let isFirst = !former.hasPrefix(text.prefix { $0 == "/" })
                        found.append(Line(place: "\(file):\(index + 1)", text: text, isFirstOfComment: isFirst))
                    }
                    former = text
                }
            }
        }
        return found
    }

    @Test func docCommentsBeginWithWhatAThingIs() throws {
        let comments = try Self.comments()
        #expect(comments.count > 10_000)
        let start = Self.start
        let found = comments.filter { $0.isFirstOfComment && $0.text.prefixMatch(of: start) != nil }
        #expect(found.map { "\($0.place) \($0.text)" } == [])
    }

    @Test(arguments: [
        "/// Of a shard.", "/// At the end.", "/// As Postgres has it.", "/// Likewise.", "// Of a shard.",
        "/// What is kept.", "/// Who asked.", "/// Where it runs.", "/// Is asked once.", "/// Does nothing.",
        "/// Has not run.", "/// Those of batches.", "/// Not connected.",
    ])
    func aBeginningWithoutItsNounIsFound(text: String) { #expect(text.prefixMatch(of: Self.start) != nil) }

    @Test(arguments: [
        "/// At most `countMax`.", "/// Offers it.", "/// Formats.", "/// As many as are asked.",
        "/// Whether it runs.", "/// Hash of it.", "/// Nothing is sent.", "// Not the copy: it is stale.",
    ])
    func otherBeginningsAreLeftAlone(text: String) { #expect(text.prefixMatch(of: Self.start) == nil) }

    @Test func commentsHaveNoDialect() throws {
        let dialect = Self.dialect
        let found = try Self.comments().filter { $0.text.firstMatch(of: dialect) != nil }
        #expect(found.map { "\($0.place) \($0.text)" } == [])
    }

    @Test func pagesHaveNoDialect() throws {
        let dialect = Self.dialect
        for page in try Page.all() {
            for line in page.lines {
                #expect(line.firstMatch(of: dialect) == nil, "\(page.path): \(line)")
            }
        }
    }

    /// Comments, messages and pages spell it in one way, so that a search finds all.
    @Test func timeoutIsOneWord() throws {
        var found: [String] = []
        let files = ["Sources", "Tests"].flatMap { Repository.files(below: $0, ending: ".swift") }
        for file in files + (try Page.all().map(\.path)) where !file.hasPrefix("Tests/Contract/DocsTests/") {
            for line in try Repository.text(file).split(separator: "\n")
            where line.lowercased().contains("time-out") { found.append("\(file): \(line)") }
        }
        #expect(found == [])
    }

    /// A name states the thing and what is expected of it: `failedRemoteRunsAreRetriedAlone`.
    @Test func testNamesBeginWithTheThing() throws {
        var found: [String] = []
        for file in Repository.files(below: "Tests", ending: ".swift") {
            for match in try Repository.text(file).matches(of: Self.riddle) { found.append("\(file) \(match.output)") }
        }
        #expect(found == [])
    }

    @Test(arguments: ["what", "who", "where", "when", "it"])
    func aNameWithoutItsThingIsFound(start: String) {
        #expect("func \(start)IsKept()".contains(Self.riddle))
        #expect(!"func \(start)out()".contains(Self.riddle))
        #expect("@Test(\"\(start) is kept\")".contains(Self.riddle))
    }

    @Test(arguments: ["of all calls", "While away", "without a server", "On a replica"])
    func aSentenceWithoutItsThingIsFound(sentence: String) {
        #expect("@Test(\n        \"\(sentence) …\"".contains(Self.riddle))
        #expect("@Suite(\"\(sentence) …\")".contains(Self.riddle))
        #expect(!"@Test(\"a call \(sentence)\")".contains(Self.riddle))
        #expect(!"@Test(\"often\")".contains(Self.riddle))
    }
}
