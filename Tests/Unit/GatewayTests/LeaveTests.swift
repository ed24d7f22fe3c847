import Broker
import Execution
import InMemoryBroker
import LiveModel
import Logging
import NIOPosix
import RoleMachines
import Sessions
import Streams
import Testing

@testable import Gateway

/// The end of a gateway on a stop of its node.
@Suite(.timeLimit(.minutes(1))) struct LeaveTests {
    private let broker: MemoryBroker
    private let gateway: GatewayService

    init() throws {
        broker = MemoryBroker(keys: try Keys(namespace: "t"), now: { 0 })
        var settings = GatewayMachine.Settings()
        settings.interest.shardCount = 1
        gateway = GatewayService(
            node: NodeID("g"), broker: broker, group: .singleton, settings: settings, controlLengthMax: 1_000,
            clock: ServiceClock { 0 }, logger: Logger(label: "test"))
    }

    /// Returns the number of messages that shard 0 got.
    private func sent() async throws -> Int {
        let reader = broker.makeReader(name: "shard")
        reader.follow(broker.keys.control(shard: 0), after: .zero)
        return try await reader.next(maxEntries: 10).map(\.entries.count).reduce(0, +)
    }

    @Test func queuedMessagesAreSentFirst() async throws {
        gateway.forgetFormer()
        await gateway.leave(withinMs: 60_000)
        #expect(try await sent() == 1)
    }

    @Test func aBrokerThatDoesNotAnswerIsNotAwaitedForLonger() async throws {
        broker.stallAppends(true)
        gateway.forgetFormer()
        await gateway.leave(withinMs: 20)
        broker.stallAppends(false)
        #expect(try await sent() == 1, "the message was in flight")
    }
}
