import Console
import Foundation
import TestSupport
import Testing

/// The console's files: all of the folder, small, and plain.
@Suite struct ConsoleFilesTests {
    private static let folder = "Sources/Roles/Console/Files"

    @Test func everyFileIsServed() {
        let names = Repository.files(below: Self.folder, ending: "").map { path in
            let name = String(path.dropFirst(Self.folder.count + 1))
            return name == "index.html" ? "/" : "/console/\(name)"
        }
        #expect(Set(names) == Set(ConsoleFiles.all.keys))
        #expect(ConsoleFiles.file("/console/../index.html") == nil)
    }

    @Test func togetherTheyAreSmall() {
        #expect(ConsoleFiles.all.values.reduce(0) { $0 + $1.byteCount } <= 200 * 1_024)
    }

    @Test func linesFitAndNothingComesFromElsewhere() throws {
        for path in Repository.files(below: Self.folder, ending: "") {
            let text = try Repository.text(path)
            for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                #expect(line.count <= 120, "\(path):\(index + 1)")
            }
            #expect(text.firstMatch(of: #/https?:\/\//#) == nil, "\(path)")
            #expect(!text.contains("innerHTML"), "\(path)")
        }
    }
}
