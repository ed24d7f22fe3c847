import Foundation
import Observability
import TestSupport
import Testing

@testable import Node

@Suite struct MetricsReferenceTests {
    private static let families = MetricsReference.sections.flatMap(\.families)

    /// Compares the page, or writes it if UPDATE_REFERENCE is set.
    @Test func thePageIsWhatTheDeclarationsMake() throws {
        let url = URL(filePath: Repository.path("docs/operations/metrics.md"))
        if ProcessInfo.processInfo.environment["UPDATE_REFERENCE"] != nil {
            try Data(MetricsReference.page.utf8).write(to: url)
        }
        #expect(
            try String(contentsOf: url, encoding: .utf8) == MetricsReference.page,
            "run the tests with UPDATE_REFERENCE=1 and commit docs/operations/metrics.md")
    }

    /// A new metrics struct needs a row in `MetricsReference.sections`.
    @Test func everyDeclaredMetricIsOnThePage() throws {
        let listed = Set(Self.families.map(\.name))
        var declared: Set<String> = []
        for file in Repository.files(below: "Sources", ending: ".swift") {
            for match in try Repository.text(file).matches(of: /\bMetric\.\w+\(\s*"(freshet_\w+)"/) {
                declared.insert(String(match.1))
                #expect(listed.contains(String(match.1)), "\(file): \(match.1)")
            }
        }
        #expect(declared.count > 40)
    }

    @Test func namesAreUniqueAndEndAsTheirKindDemands() {
        #expect(Set(Self.families.map(\.name)).count == Self.families.count)
        for family in Self.families {
            #expect(family.name.hasPrefix("freshet_"))
            #expect(family.name.hasSuffix("_total") == (family.kind == .counter), "\(family.name)")
            #expect(family.kind != .timer || family.unit == "seconds", "\(family.name)")
        }
    }

    @Test func everyFamilyHasADescription() {
        for family in Self.families {
            #expect(!family.help.isEmpty && !family.help.hasSuffix(".") && !family.help.contains("|"), "\(family.name)")
        }
    }
}
