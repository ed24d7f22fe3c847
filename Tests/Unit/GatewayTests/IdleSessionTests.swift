import Broker
import Catalog
import Execution
import HTTPServer
import InMemoryBroker
import JSON
import LiveModel
import Logging
import NIOCore
import NIOPosix
import RoleMachines
import SchemaModel
import Sessions
import Streams
import Testing

@testable import Gateway

/// When a session without operations is closed.
@Suite(.timeLimit(.minutes(1))) struct IdleSessionTests {
    /// Starts an operation once it is acknowledged, and notes when it was answered and closed.
    private final class Connection: SessionConnection {
        let eventLoop: any EventLoop
        let taskExecutor: LoopTaskExecutor
        let pendingBytes = 0
        let closed: EventLoopPromise<NIODeadline>
        weak var session: ClientSession?
        private var timer = SessionTimer()
        var messages: [NIODeadline] = []

        init(_ eventLoop: any EventLoop) {
            self.eventLoop = eventLoop
            taskExecutor = LoopTaskExecutor(eventLoop)
            closed = eventLoop.makePromise()
        }

        func send(message: ByteBuffer) {
            messages.append(.now())
            guard messages.count == 1 else { return }
            session?.received(
                text: ByteBuffer(string: #"{"type":"subscribe","id":"1","payload":{"query":"mutation M { a }"}}"#))
        }

        func send(result: ByteBuffer) { send(message: result) }
        func send(_ shared: SharedResult, id: String, as format: ResultFormat) {}
        func send(prefix: [UInt8], shared: SharedBody) {}
        func gathered(_ body: () -> Void) { body() }
        func end(_ error: RequestError) {}
        func close(code: UInt16, reason: String) { closed.succeed(.now()) }
        func wake(_ session: ClientSession, atMs: Int64) { timer.wake(session, atMs: atMs, on: eventLoop) }
    }

    private final class Executor: SessionRequestExecutor {
        let clock = ServiceClock { 0 }
        let quotas = QuotaGate()
        let invalidations = Invalidations()
        let resolved: ResolvedOperation
        let answered: AsyncStream<Void>

        init(_ resolved: ResolvedOperation, answered: AsyncStream<Void>) {
            self.resolved = resolved
            self.answered = answered
        }

        func resolve(
            _ request: OperationRequest, for identity: Identity, _ kinds: AllowedKinds
        ) throws(RequestError) -> ResolvedOperation { resolved }
        func authenticate(_ credentials: Credentials) async throws(RequestError) -> Identity { .signedOut }
        func refusal(of identity: Identity) -> RequestError? { nil }
        func answer(_ resolved: ResolvedOperation, traceID: String) async throws(RequestError) -> OperationAnswer {
            for await _ in answered { break }
            return OperationAnswer(body: Array("{}".utf8))
        }
        func makeTraceID() -> String { "t" }
    }

    private static func mutation() throws -> ResolvedOperation {
        let text = "mutation M @auth(level: PUBLIC) { person_insert(data: {name: \"a\"}) }"
        let catalog = try Catalog.compile(
            Project(
                serviceID: "test",
                schemaFiles: [SourceFile(path: "s.gql", text: "type Person @table { name: String! }")],
                connectors: [ConnectorSource(id: "c", files: [SourceFile(path: "c.gql", text: text)])]))
        return try OperationLookup(catalog: catalog, version: Digest(of: "test".utf8)).resolve(
            connector: "c", name: "M", document: nil, digest: nil, variables: [:], auth: nil, nowMs: 0)
    }

    /// The mutation lasts longer than the idle time, so the idle timer fires during it.
    @Test func theIdleTimeBeginsWithTheEndOfTheLastOperation() async throws {
        let idleMs: Int64 = 100
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let service = GatewayService(
            node: NodeID("g"), broker: MemoryBroker(keys: try Keys(namespace: "t"), now: { 0 }),
            group: .singleton, settings: GatewayMachine.Settings(), controlLengthMax: 1_000,
            clock: ServiceClock { 0 }, logger: Logger(label: "test"))
        let hub = try #require(service.hub(of: eventLoop))
        let (answered, answer) = AsyncStream.makeStream(of: Void.self)
        let executor = Executor(try Self.mutation(), answered: answered)
        let idleForMs = try await eventLoop.flatSubmit {
            let connection = Connection(eventLoop)
            var limits = SessionLimits()
            limits.idleTimeoutMs = idleMs
            do {
                let session = ClientSession(
                    connection: connection, machine: GraphQLTransportWSMachine(SessionOpening(operationsMax: 10)),
                    executor: executor, hub: hub, limits: limits,
                    permit: try SessionPermit(connectionFrom: nil, SessionRegistry(), QuotaGate()))
                connection.session = session
                session.received(text: ByteBuffer(string: #"{"type":"connection_init"}"#))
                eventLoop.scheduleTask(in: .milliseconds(idleMs * 3 / 2)) { answer.yield() }
                let bound = NIOLoopBound((connection, session), eventLoop: eventLoop)
                return connection.closed.futureResult.map { closed in
                    let (connection, session) = bound.value
                    session.closed(code: nil)
                    return connection.messages.last.map { (closed - $0).nanoseconds / 1_000_000 } ?? -1
                }
            } catch {
                return eventLoop.makeFailedFuture(error)
            }
        }.get()
        #expect(idleForMs >= idleMs - 5)
        await service.leave(withinMs: 5_000)
    }
}
