import Foundation
import JSON
import TestSupport
import Testing

/// The corpus of `make fuzz-parsers` and every input that it ever tripped over: see `Tests/Fuzz`.
@Suite struct FuzzCorpusTests {
    private static let folder = Repository.path("Tests/Fuzz/Corpus/json")

    @Test func isWrittenAsWhatParsesToTheSame() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder)
        #expect(!files.isEmpty)
        for file in files.sorted() {
            let bytes = Array(try #require(FileManager.default.contents(atPath: "\(Self.folder)/\(file)")))
            guard let value = try? JSONParser.parse(bytes) else { continue }
            let text = JSONWriter.compact(value)
            #expect(JSONWriter.compact(try JSONParser.parse(text)) == text, "\(file)")
        }
    }
}
