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
