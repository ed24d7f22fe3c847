import Foundation
import TestSupport
import Testing

/// Pages that list what the sources have list all of it.
@Suite struct ReferenceTests {
    private static let folders = ["Languages", "SDK", "Core", "Servers", "Roles", "Tools", "Verification"]

    @Test func theModuleMapHasEveryModule() throws {
        let page = try Page("docs/architecture.md")
        for folder in Self.folders {
            let modules = try Repository.entries(of: "Sources/" + folder)
            #expect(page.firstCells(below: folder).sorted() == modules, "docs/architecture.md, \(folder)")
        }
        #expect(try Repository.entries(of: "Sources") == Self.folders.sorted())
    }

    @Test func theTestingPageHasEverySuite() throws {
        let page = try Page("docs/testing.md")
        for folder in ["Unit", "Contract", "Integration"] {
            let rows = page.rows(below: folder).flatMap { $0.matches(of: #/`(\w+)`/#).map { String($0.output.1) } }
            let suites = try Repository.entries(of: "Tests/" + folder).filter { $0 != "Python" }
            #expect(rows.sorted() == suites, "docs/testing.md, \(folder)")
        }
        let others = try Repository.entries(of: "Tests").filter { !["Unit", "Contract", "Integration"].contains($0) }
        for folder in others { #expect(page.codeSpans.contains("Tests/" + folder), "\(folder)") }
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
        used.subtract(["freshet_new", "freshet_index_model", "freshet_changes", "freshet_outbox"])
        #expect(Set(listed) == used)
    }

    @Test func theSecurityPageHasARowForEveryAttack() throws {
        let attacks = try Repository.text("Tests/Integration/Python/hostile/attacks.py")
            .matches(of: /(?m)^@attack\nasync def (\w+)\(/).map { String($0.1).replacing("_", with: " ") }
        let rows = try Page("docs/security.md").lines.filter { $0.hasPrefix("| ") && !$0.hasPrefix("| ---") }
            .map { $0.split(separator: "|")[0].trimmingCharacters(in: .whitespaces) }
        #expect(rows == ["attack"] + attacks)
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
                #expect(!text.contains("refresh conformance"), "\(file) cites a page outside the repository")
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

    /// Lines of the log, quoted in full.
    @Test func theLogsPageQuotesLinesOfTheSources() throws {
        let lines = try Page("docs/operations/logs.md").lines.filter { $0.hasPrefix("| `") }
            .map { $0.split(separator: "|")[0] }
            .flatMap { cell in cell.matches(of: /`([^`]+)`/).map { "\"\($0.1)\"" } }
            .filter { $0.contains(" ") }
        let sources = try Repository.files(below: "Sources", ending: ".swift").map { try Repository.text($0) }
        #expect(lines.count > 30)
        for line in lines { #expect(sources.contains { $0.contains(line) }, "no source has \(line)") }
    }

    @Test func theAlertsPageHasEveryAlert() throws {
        let rules = try Repository.text("deploy/prometheus/alerts.yaml").split(separator: "\n")
            .compactMap { $0.firstMatch(of: #/^ +- alert: (\w+)/#)?.1 }
        let page = try Repository.text("docs/operations/alerts.md")
        let rows = page.matches(of: #/(?m)^\| `(\w+)` \|/#).map(\.1)
        #expect(!rules.isEmpty && rows == rules)
    }

    /// A variable that the settings' loader does not know would stop every command.
    @Test func everyVariableOfTheToolsIsNamed() throws {
        let known = try Repository.text("Sources/Servers/Settings/Layers/SettingsLayers.swift")
        let page = try Repository.text("docs/reference/cli.md")
        for file in Repository.files(below: "Sources/Tools/freshet", ending: ".swift") {
            for name in try Repository.text(file).matches(of: #/"(FRESHET_[A-Z_]+)"/#).map(\.1) {
                #expect(page.contains("`\(name)`"), "\(name) in \(file) is not on the page")
                let isSetting = name.hasPrefix("FRESHET_ADMIN_TOKEN")
                #expect(isSetting || known.contains("\"\(name)\""), "\(name) in \(file) is unknown to the settings")
            }
        }
    }

    @Test func theReadmeIsShort() throws {
        #expect(try Repository.text("README.md").components(separatedBy: "\n").count <= 151)
    }
}
