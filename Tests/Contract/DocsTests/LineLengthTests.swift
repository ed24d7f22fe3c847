import TestSupport
import Testing

/// No line is longer than a reader's window. `swift format` does not break strings and comments.
@Suite struct LineLengthTests {
    private static let columnsMax = 120

    private func overlong(below folder: String, ending: String = ".swift") throws -> [String] {
        try overlong(Repository.files(below: folder, ending: ending))
    }

    private func overlong(_ files: [String]) throws -> [String] {
        var found: [String] = []
        for file in files {
            var line: [UInt8] = []
            var number = 1
            for byte in try Repository.text(file).utf8 {
                guard byte == UInt8(ascii: "\n") else {
                    line.append(byte)
                    continue
                }
                // Characters are counted only where there are that many bytes.
                if line.count > Self.columnsMax, String(decoding: line, as: UTF8.self).count > Self.columnsMax {
                    found.append("\(file):\(number)")
                }
                line.removeAll(keepingCapacity: true)
                number += 1
            }
        }
        return found
    }

    @Test func noLineOfTheTestsIsOverlong() throws {
        let found = try overlong(below: "Tests")
        #expect(found == [])
    }

    @Test func noLineOfTheSourcesIsOverlong() throws {
        let found = try overlong(below: "Sources") + overlong(["Package.swift"])
        #expect(found == [])
    }

    @Test(arguments: ["Sources", "Tests", "deploy"], [".py", ".sh", ".c", ".h", ".lua"])
    func noLineOfOtherLanguagesIsOverlong(below folder: String, ending: String) throws {
        let found = try overlong(below: folder, ending: ending)
        #expect(found == [])
    }

    /// Tables, code and lines of one word, such as addresses, cannot be broken. One page is printed by a program.
    @Test func noLineOfThePagesIsOverlong() throws {
        for page in try Page.all() where page.path != "docs/benchmark-run.md" {
            for line in page.lines where line.count > Self.columnsMax {
                let canBreak = !line.hasPrefix("|") && !line.hasPrefix("#") && line.contains(" ")
                #expect(!canBreak, "\(page.path): \(line)")
            }
        }
    }
}
