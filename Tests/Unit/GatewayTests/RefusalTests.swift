import Broker
import Execution
import HTTPServer
import InMemoryBroker
import LiveModel
import Logging
import NIOCore
import NIOPosix
import RoleMachines
import Sessions
import Streams
import Testing

@testable import Gateway

/// Web clients of SQL Connect send `resume` right behind `subscribe`; a refusal answers both once.
@Suite struct RefusalTests {
    private static let name = "projects/p/locations/l/services/s/connectors/c"

    private func run(_ body: @escaping @Sendable (ClientSession, StubConnection) -> Void) async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let service = GatewayService(
            node: NodeID("g"), broker: MemoryBroker(keys: try Keys(namespace: "t"), now: { 0 }),
            group: .singleton, settings: GatewayMachine.Settings(), controlLengthMax: 1_000,
            clock: ServiceClock { 0 }, logger: Logger(label: "test"))
        let hub = try #require(service.hub(of: eventLoop))
        try await eventLoop.submit {
            let connection = StubConnection(eventLoop)
            let session = ClientSession(
                connection: connection,
                machine: ConnectorStreamMachine<StreamJSON>(
                    SessionOpening(operationsMax: 1_000),
                    service: ServiceIdentity(service: "s", location: "l", connectors: ["c"])),
                executor: StubExecutor(), hub: hub, limits: SessionLimits(),
                permit: try SessionPermit(connectionFrom: nil, SessionRegistry(), QuotaGate()))
            // Within one turn of the event loop, so no timer fires.
            body(session, connection)
            session.closed(code: nil)
            #expect(session.refusals.count == 0)
        }.get()
        await service.leave(withinMs: 5_000)
    }

    private static func text(_ id: Int, _ kind: String) -> ByteBuffer {
        ByteBuffer(string: #"{"requestId":"\#(id)","name":"\#(name)",\#(kind)}"#)
    }
    private static let subscribe = #""subscribe":{"operationName":"None"}"#

    @Test func aRefusalAnswersSubscribeAndResumeOnce() async throws {
        try await run { session, connection in
            session.received(text: Self.text(1, Self.subscribe))
            session.received(text: Self.text(1, #""resume":{}"#))
            session.received(text: Self.text(2, Self.subscribe))
            #expect(connection.messages.isEmpty)
            session.sendRefusals()
            #expect(connection.messages.count == 2)
            #expect(connection.messages.allSatisfy { $0.contains("there is none") })
            // Asked again later, it is judged again.
            session.received(text: Self.text(1, #""resume":{}"#))
            session.sendRefusals()
            #expect(connection.messages.count == 3)
        }
    }

    @Test func aRefusalIsNotSentToAClientThatHasCancelled() async throws {
        try await run { session, connection in
            session.received(text: Self.text(1, Self.subscribe))
            session.received(text: Self.text(1, #""cancel":{}"#))
            session.sendRefusals()
            #expect(connection.messages.isEmpty)
        }
    }

    @Test func refusalsComeBeforeTheClose() async throws {
        try await run { session, connection in
            session.received(text: Self.text(1, Self.subscribe))
            session.goAway()
            #expect(connection.messages.count == 1)
            #expect(connection.closes == [1001])
        }
    }

    @Test func onlySoManyRefusalsWait() async throws {
        try await run { session, connection in
            for id in 0...HeldRefusals.countMax { session.received(text: Self.text(id, Self.subscribe)) }
            #expect(session.refusals.count == HeldRefusals.countMax)
            #expect(connection.messages.count == 1)
        }
    }

    @Test(.timeLimit(.minutes(1))) func aRefusalIsSentByItself() async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = eventLoop.makePromise(of: Void.self)
        let service = GatewayService(
            node: NodeID("g"), broker: MemoryBroker(keys: try Keys(namespace: "t"), now: { 0 }),
            group: .singleton, settings: GatewayMachine.Settings(), controlLengthMax: 1_000,
            clock: ServiceClock { 0 }, logger: Logger(label: "test"))
        let hub = try #require(service.hub(of: eventLoop))
        let session = try await eventLoop.submit {
            let connection = StubConnection(eventLoop)
            connection.onSend = { promise.succeed() }
            let session = ClientSession(
                connection: connection,
                machine: ConnectorStreamMachine<StreamJSON>(
                    SessionOpening(operationsMax: 10),
                    service: ServiceIdentity(service: "s", location: "l", connectors: ["c"])),
                executor: StubExecutor(), hub: hub, limits: SessionLimits(),
                permit: try SessionPermit(connectionFrom: nil, SessionRegistry(), QuotaGate()))
            session.received(text: Self.text(1, Self.subscribe))
            return NIOLoopBound(session, eventLoop: eventLoop)
        }.get()
        try await promise.futureResult.get()
        try await eventLoop.submit { session.value.closed(code: nil) }.get()
        await service.leave(withinMs: 5_000)
    }
}
