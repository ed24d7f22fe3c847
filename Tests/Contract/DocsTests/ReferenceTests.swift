import Foundation
import TestSupport
import Testing

/// Pages that list what the sources have list all of it.
@Suite struct ReferenceTests {
    private static let folders = ["Languages", "Core", "Servers", "Roles", "Tools", "Verification"]

    @Test func theModuleMapHasEveryModule() throws {
        let page = try Page("docs/architecture.md")
        for folder in Self.folders {
            let modules = try Repository.entries(of: "Sources/" + folder)
            #expect(page.firstCells(below: folder).sorted() == modules, "docs/architecture.md, \(folder)")
        }
        #expect(try Repository.entries(of: "Sources") == Self.folders.sorted())
    }

    @Test func theMetricsPageHasEveryMetric() throws {
        let page = try Page("docs/operations/metrics.md")
        let listed = page.lines.compactMap { $0.firstMatch(of: /^\| `(freshet_[a-z_]+)`/).map { String($0.1) } }
        #expect(Set(listed).count == listed.count)
        var used: Set<String> = []
        for file in Repository.files(below: "Sources", ending: ".swift") {
            let text = try Repository.text(file)
            guard text.contains("\"freshet_") else { continue }
            used.formUnion(text.matches(of: /"(freshet_[a-z_]+)"/).map { String($0.1) })
        }
        // Names in the database.
        used.subtract(["freshet_new", "freshet_index_model"])
        #expect(Set(listed) == used)
    }

    /// Comments cite sections of `docs/reference/sql-connect.md`, in this one form.
    @Test func everyCitationHasItsSection() throws {
        let page = try Page("docs/reference/sql-connect.md")
        let sections = Set(page.headings.compactMap { $0.firstMatch(of: #/^([0-9.]+) /#).map { String($0.1) } })
        var count = 0
        for folder in ["Sources", "Tests"] {
            for file in Repository.files(below: folder, ending: ".swift")
            where !file.hasPrefix("Tests/Contract/DocsTests/") {
                let text = try Repository.text(file)
                #expect(!text.contains("SQL Connect language §") && !text.contains("SQL Connect wire §"), "\(file)")
                guard text.contains("sql-connect.md §") else { continue }
                for match in text.matches(of: /sql-connect\.md §([0-9]+(?:\.[0-9]+)?)/) {
                    count += 1
                    #expect(sections.contains(String(match.1)), "\(file): §\(match.1)")
                }
            }
        }
        #expect(count > 50)
    }

    @Test func theReadmeIsShort() throws {
        #expect(try Repository.text("README.md").components(separatedBy: "\n").count <= 151)
    }
}
