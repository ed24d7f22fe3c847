import Catalog
import Execution
import HTTPServer
import InMemoryBroker
import JSON
import LiveModel
import NIOCore
import RoleMachines
import SchemaModel
import Sessions
import Streams
import TestSupport
import Testing

@testable import Gateway

/// Deliveries to the live queries that a session follows: what it does about them, and what it counts.
@Suite struct LiveOperationsTests {
    private final class Session: LiveSession {
        func deliver(_ delivery: SessionDelivery, id: String) {}
    }

    private final class Executor: SessionRequestExecutor {
        let clock: ServiceClock
        let quotas: QuotaGate
        let invalidations = Invalidations()

        init(nowMs: Int64 = 0, subscriptionsMax: Int = 100, lingeringMax: Int = 100) {
            clock = ServiceClock { nowMs }
            var limits = QuotaLimits()
            limits.subscriptions = .init(perUser: subscriptionsMax)
            limits.lingeringPerAddress = lingeringMax
            quotas = QuotaGate(limits)
        }

        func resolve(
            _ request: OperationRequest, for identity: Identity, _ kinds: AllowedKinds
        ) throws(RequestError) -> ResolvedOperation { throw RequestError(.operationNotFound, "there is none") }
        func authenticate(_ credentials: Credentials) async throws(RequestError) -> Identity { .signedOut }
        func refusal(of identity: Identity) -> RequestError? { nil }
        func answer(_ resolved: ResolvedOperation, traceID: String) async throws(RequestError) -> OperationAnswer {
            throw RequestError(.internalError, "nothing runs")
        }
        func makeTraceID() -> String { "t" }
    }

    private static let lookup: Result<OperationLookup, any Error> = Result {
        let queries = """
            query Always @auth(level: PUBLIC) { people { id } }
            query Numbered($n: Int!) @auth(level: PUBLIC) { people(limit: $n) { id } }
            query Early @auth(expr: "request.time < timestamp('1970-01-01T00:00:01Z')") { people { id } }
            """
        return OperationLookup(
            catalog: try Catalog.compile(
                Project(
                    serviceID: "test",
                    schemaFiles: [SourceFile(path: "s.gql", text: "type Person @table { name: String! }")],
                    connectors: [ConnectorSource(id: "c", files: [SourceFile(path: "c.gql", text: queries)])])),
            version: Digest(of: "test".utf8))
    }

    private let subject = QuotaSubject.user("ann")

    private func resolved(_ name: String, _ variables: JSONObject = [:]) throws -> ResolvedOperation {
        try Self.lookup.get().resolve(
            connector: "c", name: name, document: nil, digest: nil, variables: variables, auth: nil, nowMs: 0)
    }

    private func result(_ text: String) -> SharedResult {
        let answer = OperationAnswer(body: Array(text.utf8))
        return SharedResult(
            LiveResult(
                position: Position(epoch: 1, run: 1, id: StreamID(ms: 1, sequence: 0)), digest: answer.digest,
                answer: answer), of: LiveQueryKey(digest: Digest(of: "key".utf8)))
    }

    private func operations(_ hub: LoopHub, _ executor: Executor, bytesMax: Int = 100) -> LiveOperations {
        var limits = SessionLimits()
        limits.bytesMax = bytesMax
        return LiveOperations(hub: hub, executor: executor, limits: limits)
    }

    private func text(_ step: DeliveryDecision<SharedResult>) -> String {
        switch step {
        case .write(let shared): "write \(String(decoding: shared.result.answer.body, as: UTF8.self))"
        case .confirm(let known): "confirm \(known.digest.hex)"
        case .hold: "hold"
        case .close: "close"
        case .fail(let error): "fail \(error.code.rawValue)"
        case .end(let error): "end \(error.code.rawValue)"
        }
    }

    @Test func aSlowClientGetsTheNewestResultOrIsClosed() async throws {
        try await onLoopOfHub { hub in
            let (session, executor) = (Session(), Executor())
            var operations = operations(hub, executor)
            _ = try operations.follow("1", try resolved("Always"), known: nil, for: session, subjects: [subject])
            let operation = try #require(operations["1"])
            let delivered = [("a", 0), ("b", 10), ("c", 10), (String(repeating: "x", count: 91), 10)].map {
                text(operations.deliver(.result(result($0.0)), id: "1", to: operation, unwrittenBytes: $0.1))
            }
            #expect(delivered == ["write a", "hold", "hold", "close"])
            let (next, last) = (operations.next(unwrittenBytes: 0), operations.next(unwrittenBytes: 0))
            #expect(next?.id == "1" && next?.result.result.answer.body == Array("c".utf8) && last == nil)
            operations.stopAll()
        }
    }

    @Test func anErrorReplacesTheResultThatWaits() async throws {
        try await onLoopOfHub { hub in
            let (session, executor) = (Session(), Executor())
            var operations = operations(hub, executor)
            _ = try operations.follow(
                "1", try resolved("Always"), known: nil, for: session, delta: .on(held: nil), subjects: [])
            let operation = try #require(operations["1"])
            _ = operation.patch(to: result("a"), hub) { _, _ in SharedBody(ByteBuffer()) }
            #expect(operation.delta.isOn && operation.delta != .on(held: nil))
            _ = operations.deliver(.result(result("b")), id: "1", to: operation, unwrittenBytes: 10)
            let error = SessionDelivery.failed(RequestError(.databaseError, "no"))
            let step = operations.deliver(error, id: "1", to: operation, unwrittenBytes: 10)
            #expect(text(step) == "fail DATABASE_ERROR")
            let next = operations.next(unwrittenBytes: 0)
            #expect(next == nil && operation.delta == .on(held: nil))
            operations.stopAll()
        }
    }

    @Test func authorizationThatDependsOnTheTimeIsCheckedAgain() async throws {
        try await onLoopOfHub { hub in
            for (name, nowMs, step) in [
                ("Early", 999, "write a"), ("Early", 1_000, "end PERMISSION_DENIED"), ("Always", 1_000, "write a"),
            ] as [(String, Int64, String)] {
                let (session, executor) = (Session(), Executor(nowMs: nowMs))
                var operations = operations(hub, executor)
                _ = try operations.follow("1", try resolved(name), known: nil, for: session, subjects: [])
                let operation = try #require(operations["1"])
                let decided = operations.deliver(.result(result("a")), id: "1", to: operation, unwrittenBytes: 0)
                #expect(text(decided) == step, "\(name) at \(nowMs)")
                // Kept only where it is needed again.
                #expect((operation.resolved != nil) == (name == "Early"))
                operations.stopAll()
            }
        }
    }

    @Test func everySubscriptionCountsUntilItIsStopped() async throws {
        try await onLoopOfHub { hub in
            let (session, executor) = (Session(), Executor(subscriptionsMax: 2))
            var operations = operations(hub, executor)
            let query = try resolved("Always")
            func count() -> [Int] { [executor.quotas.count(.subscription, of: subject), hub.subscriptionCount] }
            for id in ["1", "2"] {
                _ = try operations.follow(id, query, known: nil, for: session, subjects: [subject])
            }
            let refusal = failure { () throws(RequestError) in
                try operations.follow("3", query, known: nil, for: session, subjects: [subject])
            }
            #expect(refusal?.code == .limitExceeded)
            #expect(operations.followedIDs == ["1", "2"] && count() == [2, 2])
            let stopped = [operations.stop("1"), operations.stop("1")]
            #expect(
                stopped == [true, false] && operations.followedCount == 1 && operations["1"] == nil
                    && count() == [1, 1])
            operations.stopAll()
            #expect(operations.followedCount == 0 && count() == [0, 0])
        }
    }

    /// The connections of an address are cut again and again, each with other live queries.
    @Test func cutConnectionsLeaveOnlySoManyLiveQueriesBehind() async throws {
        let home = QuotaSubject.address("192.0.2.1")
        try await onLoopOfHub(counting: { #expect($0.liveQueries == 10 && $0.subscriptions == 0) }) { hub in
            let executor = Executor(lingeringMax: 10)
            for round in 0..<5 {
                let session = Session()
                var operations = operations(hub, executor)
                for number in 0..<10 {
                    let query = try resolved("Numbered", ["n": .int(Int64(10 * round + number))])
                    _ = try operations.follow("\(number)", query, known: nil, for: session, subjects: [home])
                }
                operations.stopAll()
            }
        }
    }

    @Test func aSubscriptionThatIsReplacedEnds() async throws {
        try await onLoopOfHub { hub in
            let (session, executor) = (Session(), Executor())
            var operations = operations(hub, executor)
            let query = try resolved("Always")
            for _ in 1...2 {
                _ = try operations.follow("1", query, known: nil, for: session, subjects: [subject])
                #expect(executor.quotas.count(.subscription, of: subject) == 1 && hub.subscriptionCount == 1)
            }
            operations.stopAll()
            #expect(executor.quotas.count(.subscription, of: subject) == 0 && hub.subscriptionCount == 0)
        }
    }

    @Test func stoppingDropsTheResponseOfAOneShotOperation() async throws {
        try await onLoopOfHub { hub in
            var operations = operations(hub, Executor())
            let runs = ["1", "2"].map { operations.oneShots.running.begin($0) }
            let tasks = runs.map { run in
                let task = Task<Void, Never> {}
                operations.oneShots.running.attach(task, to: run)
                return task
            }
            let wasFollowed = operations.stop("1")
            operations.stopAll()
            #expect(!wasFollowed)
            // A mutation that the client gave up runs on; the end of the session cancels the rest.
            #expect(tasks.map(\.isCancelled) == [false, true])
            let areAwaited = runs.map { operations.oneShots.running.finished($0) }
            #expect(areAwaited == [false, false])
        }
    }
}
