import GraphQLLanguage
import JSON
import Testing
@testable import SchemaModel

@Suite("Diagnostics")
struct DiagnosticsTests {
    private func render(_ text: String, at start: Int, _ length: Int, help: String? = nil, color: Bool = false)
        -> String
    {
        let file = SourceFile(path: "a.gql", text: text)
        let diagnostic = file.diagnostic(
            .error, rule: .auth, at: SourceRange(start: start, end: start + length), "m", help: help)
        return DiagnosticRenderer(usesColor: color).render(diagnostic)
    }

    @Test func showsLineAndMarks() {
        #expect(
            render("type A {\n  title: Strin!\n}", at: 18, 5, help: "did you mean \"String\"?")
                == """
                a.gql:2:10: error: m [auth]
                    title: Strin!
                           ^~~~~
                  help: did you mean "String"?
                """)
    }

    @Test func tabsAreWidened() {
        // The tab goes to column 4, so the caret stands under the x.
        #expect(render("\tx\ty", at: 1, 1) == "a.gql:1:2: error: m [auth]\n      x   y\n      ^")
        #expect(render("\tx\ty", at: 1, 3) == "a.gql:1:2: error: m [auth]\n      x   y\n      ^~~~~")
    }

    @Test func wideAndCombiningLettersKeepTheCaretInPlace() {
        #expect(render("日本 x", at: 7, 1) == "a.gql:1:4: error: m [auth]\n  日本 x\n       ^")
        #expect(render("e\u{301} x", at: 4, 1) == "a.gql:1:4: error: m [auth]\n  e\u{301} x\n    ^")
    }

    @Test func aFileCannotSpeakToTheTerminal() {
        #expect(render("a\u{1B}[31mb", at: 6, 1) == "a.gql:1:7: error: m [auth]\n  a\u{FFFD}[31mb\n        ^")
    }

    @Test func endsAreMarkedPastTheLine() {
        #expect(render("ab\ncd", at: 2, 1) == "a.gql:1:3: error: m [auth]\n  ab\n    ^")
        #expect(render("ab", at: 99, 1) == "a.gql:1:3: error: m [auth]\n  ab\n    ^")
        // A range over lines is marked on its first one.
        #expect(render("abc\ndef", at: 1, 5) == "a.gql:1:2: error: m [auth]\n  abc\n   ^~")
    }

    @Test func longLinesAreCutAroundThePlace() {
        let text = render(
            String(repeating: "x", count: 1_000) + "HERE" + String(repeating: "y", count: 1_000), at: 1_000, 4)
        let lines = text.split(separator: "\n")
        #expect(lines[1].hasPrefix("  …") && lines[1].hasSuffix("…") && lines[1].count <= 170)
        let caret = lines[2].firstIndex(of: "^").map { lines[2].distance(from: lines[2].startIndex, to: $0) }
        let here = lines[1].firstRange(of: "HERE").map {
            lines[1].distance(from: lines[1].startIndex, to: $0.lowerBound)
        }
        #expect(caret == here)
    }

    @Test func colorIsOptional() {
        #expect(render("x", at: 0, 1, color: true).contains("\u{1B}[1;31merror\u{1B}[0m"))
        #expect(!render("x", at: 0, 1).contains("\u{1B}"))
    }

    @Test func theRenderingEndsWithCounts() {
        let file = SourceFile(path: "a", text: "")
        let all = DiagnosticRenderer().render([
            file.diagnostic(.error, rule: .auth, "one"), file.diagnostic(.warning, rule: .auth, "two"),
            file.diagnostic(.warning, rule: .auth, "three"),
        ])
        #expect(all == "a: error: one [auth]\na: warning: two [auth]\na: warning: three [auth]\n1 error, 2 warnings\n")
        #expect(DiagnosticRenderer().render([]) == "")
    }

    @Test func diagnosticsAreRenderedAsJSON() {
        let file = SourceFile(path: "a.gql", text: "xyz")
        let value = DiagnosticRenderer.json([
            file.diagnostic(.warning, rule: .auth, at: SourceRange(start: 1, end: 3), "m", help: "h")
        ])
        #expect(
            value.description
                == """
                [{"severity":"warning","rule":"auth","message":"m","file":"a.gql","line":1,"column":2,"length":2,\
                "sourceLine":"xyz","help":"h"}]
                """
        )
    }

    @Test func lineBreaksOfEveryKind() {
        let file = SourceFile(path: "a", text: "ab\r\ncd\ref\ngh")
        func line(_ offset: Int) -> String {
            let diagnostic = file.diagnostic(.error, rule: .auth, at: SourceRange(start: offset, end: offset + 1), "")
            return "\(diagnostic.line):\(diagnostic.column) \(diagnostic.sourceLine)"
        }
        #expect(line(1) == "1:2 ab" && line(4) == "2:1 cd" && line(7) == "3:1 ef" && line(11) == "4:2 gh")
        #expect(
            SourceFile(path: "a", text: "é\nüx").range(line: 2, column: 2, length: 9) == SourceRange(start: 5, end: 6))
        #expect(SourceFile(path: "a", text: "a").range(line: 9, column: 9) == SourceRange(start: 1, end: 1))
    }
}

@Suite("Collecting diagnostics")
struct DiagnosticsSinkTests {
    private func diagnostic(_ line: Int, _ severity: Diagnostic.Severity = .error, file: String = "a") -> Diagnostic {
        Diagnostic(severity: severity, rule: .auth, message: "m\(line)", file: file, line: line, column: 1)
    }

    @Test func diagnosticsAreOrderedByFileAndLine() {
        var sink = DiagnosticSink()
        for entry in [diagnostic(2), diagnostic(1, .warning, file: "b"), diagnostic(1, .warning), diagnostic(1)] {
            sink.report(entry)
        }
        #expect(
            sink.diagnostics == [
                diagnostic(1), diagnostic(1, .warning), diagnostic(2), diagnostic(1, .warning, file: "b"),
            ])
    }

    @Test func diagnosticsAreBounded() {
        var sink = DiagnosticSink()
        for line in 1...250 { sink.report(diagnostic(line)) }
        sink.report(diagnostic(1, .warning))
        #expect(sink.count(of: .error) == 250)
        #expect(sink.diagnostics.count == 202)
        #expect(sink.diagnostics.last?.message == "50 more errors not shown")
    }

    @Test func theSameTwiceIsOne() {
        var sink = DiagnosticSink()
        sink.report(diagnostic(1))
        sink.report(diagnostic(1))
        #expect(sink.count(of: .error) == 1 && sink.diagnostics.count == 1)
    }

    @Test func warningsDoNotThrow() throws {
        var sink = DiagnosticSink()
        sink.report(diagnostic(1, .warning))
        try sink.throwIfErrors()
        sink.report(diagnostic(2))
        #expect(throws: CatalogError.self) { try sink.throwIfErrors() }
    }
}

@Suite("Did you mean")
struct DiagnosticsDidYouMeanTests {
    @Test func distancesCountEditsUpToTheLimit() {
        func distance(_ left: String, _ right: String, limit: Int = 9) -> Int {
            DidYouMean.distance(Array(left.unicodeScalars), Array(right.unicodeScalars), limit: limit)
        }
        #expect(distance("abc", "abc") == 0 && distance("abc", "abd") == 1 && distance("abc", "acb") == 1)
        #expect(distance("", "abc") == 3 && distance("kitten", "sitting") == 3)
        #expect(distance("kitten", "sitting", limit: 1) == 2)
    }

    @Test func similarNamesAreSuggested() {
        let names = ["title", "titles", "printedYear", "genre"]
        #expect(DidYouMean.help("titel", among: names) == "did you mean \"title\" or \"titles\"?")
        #expect(DidYouMean.help("PRINTEDYEAR", among: names) == "did you mean \"printedYear\"?")
        #expect(DidYouMean.help("unrelated", among: names) == nil)
        #expect(DidYouMean.help("x", among: ["y"]) == nil)
        let relations = ["lotPhotos_on_lot", "users_via_Watch", "photograph"]
        #expect(DidYouMean.help("photos", among: relations) == "did you mean \"lotPhotos_on_lot\"?")
        #expect(DidYouMean.help("Users", among: relations) == "did you mean \"users_via_Watch\"?")
        #expect(DidYouMean.help("hotos", among: ["lotPhotos_on_lot"]) == nil)
        #expect(DidYouMean.help(String(repeating: "a", count: 65), among: [String(repeating: "a", count: 64)]) == nil)
    }
}
