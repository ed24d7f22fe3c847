import Foundation
import SchemaModel
import TestSupport
import Testing

/// `docs/reference/language-rows.md` has every row of the language's tables and names existing rows, tests and rules.
@Suite struct LanguageRowsTests {
    private struct Row {
        /// `5.4`, or what else the heading says.
        let section: String
        let text: String
        let rest: String
    }

    /// Rows of all tables of a page; the first of each table is its head.
    private static func rows(_ page: String) -> [Row] {
        var rows: [Row] = []
        var section = ""
        var isHead = true
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("#") {
                let heading = line.drop { $0 == "#" || $0 == " " }
                section = heading.first == "5" ? String(heading.prefix(3)) : String(heading)
            }
            guard line.hasPrefix("|") else {
                isHead = true
                continue
            }
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            if !isHead, !cells[1].hasPrefix("---") {
                rows.append(Row(section: section, text: cells[1], rest: cells.dropFirst(2).joined(separator: "|")))
            }
            isHead = false
        }
        return rows
    }

    private static func ours() throws -> [Row] {
        rows(try Repository.text("docs/reference/language-rows.md"))
    }

    /// The rows with SQL and results, as `group/name`.
    private static var goldens: Set<String> {
        func names(_ group: String, _ names: [String]) -> [String] { names.map { "\(group)/\($0)" } }
        return Set(
            names("filters", Language.Filters.rows.map(\.name)) + names("queries", Language.Queries.rows.map(\.name))
                + names("aggregates", Language.Aggregates.rows.map(\.name))
                + names("search", Language.SearchAndScalars.rows.map(\.name))
                + names("policies", Language.Policies.rows.map(\.name))
                + names("steps", Language.Steps.rows.map(\.name))
                + names("mutations", (Language.Mutations.rows + Language.Targets.rows).map(\.name))
                + names("mutations", (Language.Nulls.rows + Language.UpsertChanges.rows).map(\.name))
                + names("schema", Language.Schemas.rows.map(\.name))
                + names("scalars", Language.Scalars.rows.map(\.name)) + names("vectors", VectorTests.rows.map(\.name))
                + names("compatibility", Language.Compatibility.rows.map(\.name)))
    }

    @Test func onlyTestsAreTests() {
        let text = """
            @Suite struct One {
                private func helper() {}
                @Test(arguments: ["a", "b"])
                func first(_ text: String) {}
                @TestScoped func scoped() {}
                @Test func second() { func inner() {} }
            }
            extension Two {
                @Test func third() {}
            }
            """
        #expect(TestNames.names(in: text) == ["One/first", "One/second", "Two/third"])
    }

    @Test func everyNameIsThere() throws {
        let tests = try TestNames.all()
        let rules = Set(Diagnostic.Rule.allCases.map(\.rawValue))
        let rows = try Self.ours()
        #expect(rows.count > 60)
        for row in rows {
            let names = row.rest.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { $0.offset % 2 == 1 }.map { String($0.element) }
            #expect(!names.isEmpty, "\(row.text) has nothing that holds it")
            for name in names {
                if name.hasPrefix("!") {
                    #expect(rules.contains(String(name.dropFirst())), "\(row.text): \(name)")
                } else {
                    let isThere = Self.goldens.contains(name) || tests.contains(name)
                    #expect(isThere, "\(row.text): \(name)")
                }
            }
        }
    }

    /// The SQL of what stands here is recorded, and nothing is recorded that no row has.
    @Test func everyGoldenBelongsToARow() throws {
        let folder = URL(filePath: Repository.path("Tests/Contract/LanguageTests/Golden"))
        for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
            let group = file.deletingPathExtension().lastPathComponent
            let recorded = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
                .filter { $0.hasPrefix("-- ") }.map { "\(group)/\($0.dropFirst(3))" }
            #expect(!recorded.isEmpty)
            #expect(Set(recorded).subtracting(Self.goldens) == [])
            if group == "mutations" { continue }
            // Mutations that run step by step have no SQL of their own.
            #expect(Self.goldens.filter { $0.hasPrefix(group + "/") }.subtracting(recorded) == [])
        }
    }

    /// Every row of the tables of §5 of `docs/reference/sql-connect.md` has exactly one row here.
    @Test func everyRowOfTheLanguageIsHeld() throws {
        let page = try Repository.text("docs/reference/sql-connect.md")
        let language = Self.rows(page).filter { $0.section.hasPrefix("5.") }
        #expect(language.count >= 63)
        let ours = try Self.ours()
        for row in language {
            let holders = ours.filter { $0.section == row.section && $0.text == row.text }
            #expect(holders.count == 1, "\(row.section) \(row.text)")
        }
    }
}
