import InMemoryBroker
import Broker
import Streams
import Execution
import HTTPServer
import LiveModel
import Logging
import NIOCore
import NIOPosix
import RoleMachines
import Sessions
import Testing

@testable import Gateway

/// A client that has said its last, on a connection that cannot close yet: what was sent before still waits.
@Suite struct HalfCloseTests {
    @Test func aSessionEndsOnce() async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let service = GatewayService(
            node: NodeID("g"), broker: MemoryBroker(keys: try Keys(namespace: "t"), now: { 0 }),
            group: .singleton, settings: GatewayMachine.Settings(), controlLengthMax: 1_000,
            clock: ServiceClock { 0 }, logger: Logger(label: "test"))
        let hub = try #require(service.hub(of: eventLoop))
        let registry = SessionRegistry()
        let closes = try await eventLoop.submit {
            let connection = StubConnection(eventLoop)
            let permit = try SessionPermit(connectionFrom: nil, registry, QuotaGate())
            let session = ClientSession(
                connection: connection,
                machine: ConnectorStreamMachine<StreamProtobuf>(
                    SessionOpening(operationsMax: 10),
                    service: ServiceIdentity(service: "s", location: "l", connectors: ["c"])),
                executor: StubExecutor(), hub: hub, limits: SessionLimits(),
                permit: permit)
            permit.register(session, on: eventLoop, peer: nil, version: Digest(of: []))
            session.inputEnded()
            session.writabilityChanged(pendingBytes: 500)
            session.inputEnded()
            #expect(registry.count == 1)
            let closes = connection.closes
            session.closed(code: nil)
            session.closed(code: nil)
            session.inputEnded()
            return closes
        }.get()
        #expect(closes == [1000])
        #expect(registry.count == 0)
        await service.leave(withinMs: 5_000)
    }
}
