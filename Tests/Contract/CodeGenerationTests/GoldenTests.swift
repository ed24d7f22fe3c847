import CodeGeneration
import Foundation
import TestSupport
import Testing

/// The code generated from `Projects/gallery`, recorded in `Golden`: `UPDATE_GOLDEN=1` writes the files again.
@Suite struct GoldenTests {
    private static let isUpdating = ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1"

    @Test(arguments: ["admin", "dart", "kotlin", "swift", "swift-firebase", "tools.json", "web"])
    func generatedCodeIsAsRecorded(_ output: String) throws {
        // The sources for `FreshetClient` are recorded in a module of their own; `SwiftClientTests` compares them.
        let files = try #require(try Gallery.outputs()[output]).filter {
            output != "swift" || !$0.path.hasPrefix("Sources/")
        }
        let text = files.map { "==> \($0.path)\n\($0.text)" }.joined(separator: "\n")
        let path = Repository.path("Tests/Contract/CodeGenerationTests/Golden/\(output).txt")
        if Self.isUpdating { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }
        let recorded = try String(contentsOfFile: path, encoding: .utf8)
        // The texts are long: the first line that differs says more than both.
        let (mine, theirs) = (text.split(separator: "\n"), recorded.split(separator: "\n"))
        let difference = zip(mine, theirs).first { $0 != $1 }
        #expect(difference == nil && mine.count == theirs.count, "\(output): \(difference.map { "\($0)" } ?? "length")")
    }

    @Test func generatingTwiceYieldsTheSame() throws {
        #expect(try Gallery.outputs() == Gallery.outputs())
    }

    @Test func linesEndWithoutBlanks() throws {
        for (name, files) in try Gallery.outputs() {
            for file in files {
                #expect(!file.text.contains(" \n"), "\(name)/\(file.path)")
                #expect(file.text.hasSuffix("\n") && !file.text.hasSuffix("\n\n\n"), "\(name)/\(file.path)")
            }
        }
    }
}
