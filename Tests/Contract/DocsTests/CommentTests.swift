import Foundation
import TestSupport
import Testing

/// Comments say what a thing is.
@Suite struct CommentTests {
    /// "Of" at the beginning is a genitive without its noun.
    @Test func noDocCommentBeginsWithOf() throws {
        var found: [String] = []
        for folder in ["Sources", "Tests"] {
            for file in Repository.files(below: folder, ending: ".swift") {
                let text = try Repository.text(file)
                guard text.contains("/// Of ") else { continue }
                var former = Substring()
                for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                    let words = line.drop { $0 == " " }
                    if words.hasPrefix("/// Of "), !former.hasPrefix("///") { found.append("\(file):\(number + 1)") }
                    former = words
                }
            }
        }
        #expect(found == [])
    }
}
