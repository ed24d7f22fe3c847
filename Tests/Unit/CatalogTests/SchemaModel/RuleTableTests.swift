import SchemaModel
import TestSupport
import Testing

/// The table of rules and what the source reports are the same.
@Suite struct RuleTableTests {
    /// Words that stand where rules do and are arguments of directives.
    private static let others: Set<String> = ["fields", "language", "type", "vector"]

    @Test func everyRuleHasItsSentence() throws {
        let call = try Regex(
            #"(?:\berror|\bwarning|\bwarn|\breport|\bfail|\brefuse|locations\.diagnostic)"#
                + #"\(\s*(?:nil,\s*|[\w.]+,\s*)?(?:\.(?:error|warning|note),\s*)?"([a-z]+(?:-[a-z]+)*)""#)
        let label = try Regex(#"rule: "([a-z-]+)""#)
        let constant = try Regex(#"static let missingIndex = "([a-z-]+)""#)
        var found: Set<String> = []
        for folder in [
            "Core/SchemaModel", "Core/Operations", "Core/Catalog", "Core/DeploymentPlan", "Roles/Migrations",
            "Tools/ProjectFolder",
        ] {
            for file in Repository.files(below: "Sources/" + folder, ending: ".swift") {
                let text = try Repository.text(file)
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
