import Foundation
import Testing

/// `docs/reference/protocol-rows.md` names existing tests.
@Suite struct ProtocolRowsTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// Every Swift file below Tests as one text.
    private static func tests() throws -> String {
        let folder = root.appending(path: "Tests")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        return try (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }.joined()
    }

    @Test func everyRowNamesATestThatIsThereOrSaysWhyThereIsNone() throws {
        let tests = try Self.tests()
        let rows = try Self.text("docs/reference/protocol-rows.md").split(separator: "\n").filter { $0.hasPrefix("| ") }
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
                    let program = try Self.text("Tests/IntegrationTests/Python/\(parts[0])")
                    #expect(program.contains("def \(parts[1])("), "\(row[0]): \(name)")
                } else {
                    #expect(tests.contains("@Test") && tests.contains("func \(name)("), "\(row[0]): \(name)")
                }
            }
        }
    }
}
