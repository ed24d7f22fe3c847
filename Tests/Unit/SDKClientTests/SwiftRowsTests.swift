import Foundation
import TestSupport
import Testing

/// `docs/clients/swift-rows.md` names existing tests.
@Suite struct SwiftRowsTests {
    @Test func everyRowNamesTestsThatAreThereOrSaysWhyThereAreNone() throws {
        let tests = try TestNames.all()
        let rows = try Repository.text("docs/clients/swift-rows.md").split(separator: "\n")
            .filter { $0.hasPrefix("| ") }
            .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
            .filter { $0.count == 2 && $0[0] != "row" && !$0[0].hasPrefix("---") }
        // Rows of the specification are numbered; others are Freshet's own.
        #expect(Set(rows.compactMap { Int($0[0].prefix { $0.isNumber }) }) == Set(1...32))
        #expect(rows.count > 50)
        for row in rows {
            let names = row[1].matches(of: #/`(\w+\/\w+)`/#).map { String($0.output.1) }
            #expect(!names.isEmpty || row[1].hasPrefix("- "), "\(row[0]) has neither a test nor a reason")
            for name in names { #expect(tests.contains(name), "\(row[0]): \(name)") }
        }
    }
}
