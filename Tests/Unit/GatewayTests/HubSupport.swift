import Broker
import Execution
import InMemoryBroker
import LiveModel
import Logging
import NIOCore
import NIOPosix
import RoleMachines
import Streams
import Testing

@testable import Gateway

/// Passes a hub of a gateway of its own, which leaves its cluster afterwards.
/// - Parameter count: gets the gateway's counts after the body.
func withHub(
    counting count: (GatewayMachine.Counts) -> Void = { _ in }, _ body: (LoopHub) async throws -> Void
) async throws {
    let service = GatewayService(
        node: NodeID("g"), broker: MemoryBroker(keys: try Keys(namespace: "t"), now: { 0 }),
        group: .singleton, settings: GatewayMachine.Settings(), controlLengthMax: 1_000,
        clock: ServiceClock { 0 }, logger: Logger(label: "test"))
    let hub = try #require(service.hub(of: MultiThreadedEventLoopGroup.singleton.next()))
    try await body(hub)
    count(service.counts)
    await service.leave(withinMs: 5_000)
}

/// Runs on the event loop of a hub.
func onLoopOfHub(
    counting count: (GatewayMachine.Counts) -> Void = { _ in },
    _ body: @escaping @Sendable (LoopHub) throws -> Void
) async throws {
    try await withHub(counting: count) { hub in
        try await hub.eventLoop.submit { try body(hub) }.get()
    }
}
