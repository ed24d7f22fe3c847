import LiveModel
import Testing

@testable import Broker
import Streams

/// What every broker guarantees for what operators order.
@Suite("Broker contract: orders", .timeLimit(.minutes(1)))
struct OrdersContractTests {
    @Test("every change has a new generation, which is the version of what it set", arguments: BrokerKind.allCases)
    func changes(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let broker = fixture.broker
        #expect(try await broker.ordersGeneration() == 0)
        let none = try await broker.orders()
        #expect(none.generation == 0 && none.fields.isEmpty)
        let first = try await broker.changeOrders([("a:1", "x y"), ("b", "ü")])
        #expect(first > 0)
        let second = try await broker.changeOrders([("a:1", "z"), ("b", nil), ("never", nil)])
        #expect(second > first)
        let third = try await broker.changeOrders([("c", "1")])
        #expect(third > second)
        #expect(try await broker.ordersGeneration() == third)
        let orders = try await broker.orders()
        #expect(orders.generation == third && Set(orders.fields.keys) == ["a:1", "c"])
        #expect(orders.fields["a:1"]?.value == "z" && orders.fields["a:1"]?.version == second)
        #expect(orders.fields["c"]?.version == third)
        // Also when nothing is left.
        let fourth = try await broker.changeOrders([("a:1", nil), ("c", nil)])
        let empty = try await broker.orders()
        #expect(empty.fields.isEmpty && empty.generation == fourth && fourth > third)
        await broker.close()
    }
}
