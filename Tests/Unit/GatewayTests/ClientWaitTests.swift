import Catalog
import Execution
import JSON
import LiveModel
import NIOCore
import NIOPosix
import SchemaModel
import Sessions
import Streams
import Testing

@testable import Gateway

/// A client learns that its wait is over behind the results that it has yet to read.
@Suite struct ClientWaitTests {
    private static let lookup: Result<OperationLookup, any Error> = Result {
        let queries = "query People($n: Int!) @auth(level: PUBLIC) { people(limit: $n) { id } }"
        return OperationLookup(
            catalog: try Catalog.compile(
                Project(
                    serviceID: "test",
                    schemaFiles: [SourceFile(path: "s.gql", text: "type Person @table { name: String! }")],
                    connectors: [ConnectorSource(id: "c", files: [SourceFile(path: "c.gql", text: queries)])])),
            version: Digest(of: "test".utf8))
    }

    private static func resolved(_ number: Int64) throws -> ResolvedOperation {
        try lookup.get().resolve(
            connector: "c", name: "People", document: nil, digest: nil, variables: ["n": .int(number)], auth: nil,
            nowMs: 0)
    }

    private static func result(_ key: LiveQueryKey) -> SessionDelivery {
        let answer = OperationAnswer(body: Array("{}".utf8))
        return .result(
            SharedResult(
                LiveResult(
                    position: Position(epoch: 1, run: 1, id: StreamID(ms: 1, sequence: 0)), digest: answer.digest,
                    answer: answer), of: key))
    }

    /// A session that follows two live queries and has begun the wait `w`.
    private func run(_ body: @escaping @Sendable (ClientSession, StubConnection) throws -> Void) async throws {
        try await onLoopOfHub { hub in
            let connection = StubConnection(hub.eventLoop)
            let session = ClientSession(
                connection: connection, machine: GraphQLTransportWSMachine(SessionOpening(operationsMax: 10)),
                executor: StubExecutor(), hub: hub, limits: SessionLimits(),
                permit: try SessionPermit(connectionFrom: nil, SessionRegistry(), QuotaGate()))
            session.received(text: ByteBuffer(string: #"{"type":"connection_init"}"#))
            session.perform(session.machine.authenticated())
            for number in 1...2 {
                try session.follow(
                    "\(number)", try Self.resolved(Int64(number)), known: nil, delta: .off, resume: .off, isNew: false)
            }
            session.received(text: ByteBuffer(string: #"{"type":"ping","payload":{"freshet":{"wait":{"id":"w"}}}}"#))
            #expect(session.waits.count == 1)
            connection.messages = []
            try body(session, connection)
            session.closed(code: nil)
            #expect(session.waits.isEmpty && session.heldWaits.isEmpty)
        }
    }

    private static func deliver(_ session: ClientSession, _ id: String) throws {
        session.deliver(result(try resolved(Int64(id) ?? 0).liveQuery.key), id: id)
    }

    @Test func aSlowClientReadsTheResultsFirst() async throws {
        try await run { session, connection in
            for id in ["1", "2"] { try Self.deliver(session, id) }
            session.waited("w", nil)
            // A newer result of the same live query takes the place of the one that waits.
            try Self.deliver(session, "1")
            #expect(connection.messages.isEmpty && connection.results.isEmpty)
            connection.pendingBytes = 0
            session.writabilityChanged(pendingBytes: 0)
            #expect(connection.results.map(\.id) == ["1", "2"])
            #expect(connection.results.allSatisfy { $0.messagesBefore == 0 })
            #expect(connection.messages == [#"{"type":"pong","payload":{"freshet":{"waited":{"id":"w"}}}}"#])
        }
    }

    @Test func aResultThatIsDroppedIsNotWaitedFor() async throws {
        try await run { session, connection in
            try Self.deliver(session, "1")
            session.waited("w", nil)
            session.stop("1")
            #expect(connection.messages.count == 1)
        }
    }

    @Test func anErrorWaitsForNothing() async throws {
        try await run { session, connection in
            try Self.deliver(session, "1")
            session.waited("w", RequestError(.timeout, "late"))
            #expect(connection.messages.count == 1 && connection.messages[0].contains("TIMEOUT"))
        }
    }

    @Test func aClientThatReadsIsAnsweredAtOnce() async throws {
        try await run { session, connection in
            connection.pendingBytes = 0
            try Self.deliver(session, "1")
            session.waited("w", nil)
            #expect(connection.results.count == 1 && connection.messages.count == 1)
        }
    }
}
