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
    /// A connection that the test closes.
    private final class Connection: SessionConnection {
        let eventLoop: any EventLoop
        let taskExecutor: LoopTaskExecutor
        let pendingBytes = 1_000
        var closes: [UInt16] = []

        init(_ eventLoop: any EventLoop) {
            self.eventLoop = eventLoop
            taskExecutor = LoopTaskExecutor(eventLoop)
        }

        func send(message: ByteBuffer) {}
        func send(_ shared: SharedResult, id: String, as format: ResultFormat) {}
        func send(prefix: [UInt8], shared: ByteBuffer) {}
        func gathered(_ body: () -> Void) { body() }
        func end(_ error: RequestError) {}
        func close(code: UInt16, reason: String) { closes.append(code) }
    }

    private final class Executor: SessionRequestExecutor {
        let clock = ServiceClock { 0 }
        let quotas = QuotaGate()
        func resolve(
            _ request: OperationRequest, for identity: Identity, _ kinds: AllowedKinds
        ) throws(RequestError) -> ResolvedOperation { throw RequestError(.operationNotFound, "there is none") }
        func authenticate(_ credentials: Credentials) async throws(RequestError) -> Identity { .signedOut }
        func refusal(of identity: Identity) -> RequestError? { nil }
        func answer(_ resolved: ResolvedOperation, traceID: String) async throws(RequestError) -> OperationAnswer {
            throw RequestError(.internalError, "nothing is resolved")
        }
        func makeTraceID() -> String { "t" }
    }

    @Test func aSessionEndsOnce() async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let service = GatewayService(
            node: NodeID("g"), broker: MemoryBroker(keys: try Keys(namespace: "t"), now: { 0 }),
            group: .singleton, settings: GatewayMachine.Settings(), controlLengthMax: 1_000,
            route: { _ in ShardRoute(ShardID(0)) }, clock: ServiceClock { 0 }, logger: Logger(label: "test"))
        let hub = try #require(service.hub(of: eventLoop))
        let registry = SessionRegistry()
        let closes = try await eventLoop.submit {
            let connection = Connection(eventLoop)
            let permit = try SessionPermit(connectionFrom: nil, registry, QuotaGate())
            let session = ClientSession(
                connection: connection,
                machine: ConnectorStreamMachine<StreamProtobuf>(
                    SessionOpening(operationsMax: 10),
                    service: ServiceIdentity(service: "s", location: "l", connectors: ["c"])),
                executor: Executor(), hub: hub, limits: SessionLimits(),
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
        await service.leave()
    }
}
