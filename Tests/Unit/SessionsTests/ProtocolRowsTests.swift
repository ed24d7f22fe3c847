import Foundation
import TestSupport
import Testing

/// `docs/reference/protocol-rows.md` names existing tests.
@Suite struct ProtocolRowsTests {
    @Test func everyRowNamesATestThatIsThereOrSaysWhyThereIsNone() throws {
        let tests = try TestNames.all()
        let rows = try Repository.text("docs/reference/protocol-rows.md").split(separator: "\n").filter {
            $0.hasPrefix("| ")
        }
        .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
        .filter { $0.count == 2 && $0[0] != "rule" && !$0[0].hasPrefix("---") }
        #expect(rows.count > 50)
        for row in rows {
            let names = row[1].split(separator: "`").enumerated().filter {
                $0.offset % 2 == (row[1].hasPrefix("`") ? 0 : 1)
            }
            .map { String($0.element) }
            #expect(!names.isEmpty || row[1].hasPrefix("- "), "\(row[0]) has neither a test nor a reason")
            for name in names {
                let parts = name.split(separator: ":").map { $0.trimmingCharacters(in: .whitespaces) }
                if parts.count == 2 {
                    let program = try Repository.text("Tests/Integration/Python/\(parts[0])")
                    #expect(program.contains("def \(parts[1])("), "\(row[0]): \(name)")
                } else {
                    #expect(tests.contains(name), "\(row[0]): \(name)")
                }
            }
        }
    }
}
