import Foundation
import SchemaModel
import Testing

/// The table of rules and what the source reports are the same.
@Suite struct RuleTableTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources")

    /// Words that stand where rules do and are arguments of directives.
    private static let others: Set<String> = ["fields", "language", "type", "vector"]

    @Test func everyRuleHasItsSentence() throws {
        let call = try Regex(
            #"(?:\berror|\bwarning|\bwarn|\breport|\bfail|\brefuse|places\.diagnostic)\(\s*(?:nil,\s*|[\w.]+,\s*)?(?:\.(?:error|warning|note),\s*)?"([a-z]+(?:-[a-z]+)*)""#
        )
        let label = try Regex(#"rule: "([a-z-]+)""#)
        let constant = try Regex(#"static let missingIndex = "([a-z-]+)""#)
        var found: Set<String> = []
        for folder in [
            "Core/SchemaModel", "Core/Operations", "Core/Catalog", "Core/DeploymentPlan", "Roles/Migrations",
            "Tools/ProjectFolder",
        ] {
            let path = Self.sources.appending(path: folder).path
            for case let name as String in try #require(FileManager.default.enumerator(atPath: path))
            where name.hasSuffix(".swift") {
                let text = try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8)
                for regex in [call, label, constant] {
                    for match in text.matches(of: regex) { found.insert(String(match.output[1].substring ?? "")) }
                }
            }
        }
        let table = Set(RuleTable.all.map(\.rule))
        #expect(found.count > 100)
        #expect(found.subtracting(table).subtracting(Self.others) == [])
        #expect(table.subtracting(found) == [])
    }
}
