import Catalog
import Execution
import JSON
import LiveModel
import NIOCore
import SchemaModel
import Sessions
import Synchronization
import Testing

@testable import Gateway

/// One-shot operations of a session whose user or address has as many requests in flight as it may.
@Suite(.timeLimit(.minutes(1)))
struct OneShotQuotaTests {
    /// An executor whose runs end when the test says so.
    private final class Executor: SessionRequestExecutor {
        let clock = ServiceClock { 0 }
        let quotas: QuotaGate
        let invalidations = Invalidations()
        private let runs = Mutex<[CheckedContinuation<Void, Never>]>([])
        private let failure: RequestError?

        /// - Parameter failure: how runs fail; nil if they succeed.
        init(requestsMax: Int, failure: RequestError? = nil) {
            self.failure = failure
            var limits = QuotaLimits()
            limits.requests = .init(perAddress: requestsMax)
            quotas = QuotaGate(limits)
        }

        private static let lookup: Result<OperationLookup, any Error> = Result {
            OperationLookup(
                catalog: try Catalog.compile(
                    Project(
                        serviceID: "test",
                        schemaFiles: [SourceFile(path: "s.gql", text: "type Person @table { name: String! }")],
                        connectors: [
                            ConnectorSource(
                                id: "c",
                                files: [
                                    SourceFile(path: "c.gql", text: "query Q @auth(level: PUBLIC) { people { id } }")
                                ])
                        ])), version: Digest(of: "test".utf8))
        }

        func resolve(
            _ request: OperationRequest, for identity: Identity, _ kinds: AllowedKinds
        ) throws(RequestError) -> ResolvedOperation {
            do {
                return try Self.lookup.get().resolve(
                    connector: "c", name: "Q", document: request.document, digest: nil, variables: JSONObject(),
                    auth: nil, nowMs: 0)
            } catch {
                throw RequestError(.internalError, "\(error)")
            }
        }
        func authenticate(_ credentials: Credentials) async throws(RequestError) -> Identity { .signedOut }
        func refusal(of identity: Identity) -> RequestError? { nil }
        func answer(_ resolved: ResolvedOperation, traceID: String) async throws(RequestError) -> OperationAnswer {
            await withCheckedContinuation { continuation in runs.withLock { $0.append(continuation) } }
            if let failure { throw failure }
            return OperationAnswer(body: Array("{}".utf8))
        }
        func makeTraceID() -> String { "t" }

        var runningCount: Int { runs.withLock { $0.count } }
        func finish() { runs.withLock { $0.isEmpty ? nil : $0.removeFirst() }?.resume() }
    }

    private static let name = "projects/p/locations/l/services/s/connectors/c"

    private final class Bench {
        let session: ClientSession
        let connection: StubConnection

        init(_ executor: Executor, _ hub: LoopHub, address: QuotaSubject) throws {
            connection = StubConnection(hub.eventLoop)
            session = ClientSession(
                connection: connection,
                machine: ConnectorStreamMachine<StreamJSON>(
                    SessionOpening(operationsMax: 1_000),
                    service: ServiceIdentity(service: "s", location: "l", connectors: ["c"])),
                executor: executor, hub: hub, limits: SessionLimits(), address: address,
                permit: try SessionPermit(connectionFrom: nil, SessionRegistry(), executor.quotas))
        }

        func execute(_ id: Int) {
            session.received(
                text: ByteBuffer(
                    string: #"{"requestId":"\#(id)","name":"\#(name)","execute":{"operationName":"Q"}}"#))
        }
    }

    @Test func operationsBeyondTheQuotaWaitForThoseOfTheirSession() async throws {
        try await withHub { hub in
            let executor = Executor(requestsMax: 2)
            let loop = hub.eventLoop
            let home = QuotaSubject.address("192.0.2.1")
            let bench = try await loop.submit {
                NIOLoopBound(try Bench(executor, hub, address: home), eventLoop: loop)
            }.get()
            let all = loop.makePromise(of: Void.self)
            let other = try await loop.submit {
                let bench = bench.value
                bench.connection.onSend = { if bench.connection.messages.count == 20 { all.succeed() } }
                for id in 0..<20 { bench.execute(id) }
                #expect(bench.connection.messages.isEmpty, "nothing is refused")
                #expect(executor.quotas.count(.request, of: home) == 2)
                // A session without operations of its own would wait for nothing.
                let other = try Bench(executor, hub, address: home)
                other.execute(1)
                other.session.sendRefusals()
                #expect(other.connection.messages.count == 1)
                #expect(other.connection.messages.allSatisfy { $0.contains("requests in flight") })
                return NIOLoopBound(other, eventLoop: loop)
            }.get()
            for _ in 0..<20 {
                while executor.runningCount == 0 { await Task.yield() }
                executor.finish()
            }
            try await all.futureResult.get()
            try await loop.submit {
                #expect(bench.value.connection.messages.allSatisfy { !$0.contains("error") })
                for session in [bench.value, other.value] { session.session.closed(code: nil) }
                #expect(executor.quotas.count(.request, of: home) == 0)
            }.get()
        }
    }

    @Test func aWebSocketAnswersTypenameWithoutAStoredOperation() async throws {
        try await withHub { hub in
            let loop = hub.eventLoop
            try await loop.submit {
                let connection = StubConnection(loop)
                let session = ClientSession(
                    connection: connection, machine: GraphQLTransportWSMachine(SessionOpening(operationsMax: 10)),
                    executor: StubExecutor(), hub: hub, limits: SessionLimits(),
                    permit: try SessionPermit(connectionFrom: nil, SessionRegistry(), QuotaGate()))
                session.received(text: ByteBuffer(string: #"{"type":"connection_init"}"#))
                return NIOLoopBound((session, connection), eventLoop: loop)
            }.flatMap { bound in
                let acknowledged = loop.makePromise(of: Void.self)
                let (session, connection) = bound.value
                if connection.messages.isEmpty {
                    connection.onSend = { acknowledged.succeed() }
                } else {
                    acknowledged.succeed()
                }
                return acknowledged.futureResult.map {
                    connection.onSend = {}
                    session.received(
                        text: ByteBuffer(
                            string: #"{"id":"1","type":"subscribe","payload":{"query":"{ __typename }"}}"#))
                    #expect(
                        connection.messages.dropFirst() == [
                            #"{"id":"1","type":"next","payload":{"data":{"__typename":"Query"}}}"#,
                            #"{"id":"1","type":"complete"}"#,
                        ])
                    session.closed(code: nil)
                }
            }.get()
        }
    }

    /// A session of `graphql-transport-ws` over an executor whose runs fail.
    @Test func aQueryThatFailsWhileItRunsIsAResult() async throws {
        try await withHub { hub in
            let loop = hub.eventLoop
            let executor = Executor(requestsMax: 1, failure: RequestError(.timeout, "slow"))
            let ended = loop.makePromise(of: Void.self)
            let bound = try await loop.submit {
                let connection = StubConnection(loop)
                let session = ClientSession(
                    connection: connection, machine: GraphQLTransportWSMachine(SessionOpening(operationsMax: 10)),
                    executor: executor, hub: hub, limits: SessionLimits(),
                    permit: try SessionPermit(connectionFrom: nil, SessionRegistry(), executor.quotas))
                connection.onSend = {
                    switch connection.messages.count {
                    case 1:
                        let payload = #"{"query":"query Q { people { id } }"}"#
                        session.received(
                            text: ByteBuffer(string: #"{"id":"1","type":"subscribe","payload":\#(payload)}"#))
                    case 3: ended.succeed()
                    default: break
                    }
                }
                session.received(text: ByteBuffer(string: #"{"type":"connection_init"}"#))
                return NIOLoopBound((session, connection), eventLoop: loop)
            }.get()
            while executor.runningCount == 0 { await Task.yield() }
            executor.finish()
            try await ended.futureResult.get()
            try await loop.submit {
                let (session, connection) = bound.value
                let failed = #"{"id":"1","type":"next","payload":{"data":null,"errors":[{"#
                #expect(connection.messages[1].hasPrefix(failed))
                #expect(connection.messages[2] == #"{"id":"1","type":"complete"}"#)
                session.closed(code: nil)
            }.get()
        }
    }
}
