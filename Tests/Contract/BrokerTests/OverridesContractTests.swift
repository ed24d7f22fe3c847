import LiveModel
import Testing

@testable import Broker
import Streams

/// Guarantees of every broker for the overrides that operators set.
@Suite("Broker contract: overrides", .timeLimit(.minutes(1)))
struct OverridesContractTests {
    @Test("every change has a new generation, which is the version of what it set", arguments: BrokerKind.allCases)
    func changes(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let broker = fixture.broker
        #expect(try await broker.overridesGeneration() == 0)
        let none = try await broker.overrides()
        #expect(none.generation == 0 && none.fields.isEmpty)
        let first = try await broker.changeOverrides([("a:1", "x y"), ("b", "ü")])
        #expect(first > 0)
        let second = try await broker.changeOverrides([("a:1", "z"), ("b", nil), ("never", nil)])
        #expect(second > first)
        let third = try await broker.changeOverrides([("c", "1")])
        #expect(third > second)
        #expect(try await broker.overridesGeneration() == third)
        let overrides = try await broker.overrides()
        #expect(overrides.generation == third && Set(overrides.fields.keys) == ["a:1", "c"])
        #expect(overrides.fields["a:1"]?.value == "z" && overrides.fields["a:1"]?.version == second)
        #expect(overrides.fields["c"]?.version == third)
        // Also when nothing is left.
        let fourth = try await broker.changeOverrides([("a:1", nil), ("c", nil)])
        let empty = try await broker.overrides()
        #expect(empty.fields.isEmpty && empty.generation == fourth && fourth > third)
        await broker.close()
    }
}
