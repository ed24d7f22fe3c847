import Foundation
import GraphQLLanguage
import TestSupport
import Testing

/// The corpus of `make fuzz-parsers` and every input that it ever tripped over: see `Tests/Fuzz`.
@Suite struct FuzzCorpusTests {
    private static let folder = Repository.path("Tests/Fuzz/Corpus/graphql")

    @Test func printsToWhatParsesToTheSame() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder)
        #expect(!files.isEmpty)
        for file in files.sorted() { try check(file) }
    }

    private func check(_ file: String) throws {
        let bytes = Array(try #require(FileManager.default.contents(atPath: "\(Self.folder)/\(file)")))
        guard let document = try? Parser.parseDocument(Source(name: file, bytes: bytes)) else { return }
        for style in [Printer.Style.pretty, .compact] {
            let text = Printer.print(document, style: style)
            let again = try Parser.parseDocument(Source(text: text))
            #expect(Printer.print(again, style: style) == text, "\(file)")
        }
    }
}
