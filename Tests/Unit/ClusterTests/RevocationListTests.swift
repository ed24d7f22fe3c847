import InMemoryBroker
import Broker
import Streams
import Cluster
import JSON
import LiveModel
import Logging
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1)))
struct RevocationListTests {
    private final class Clock: Sendable {
        let nowMs = Atomic<Int64>(1_700_000_000_000)
        var now: Int64 { nowMs.load(ordering: .relaxed) }
        func advance(_ ms: Int64) { nowMs.wrappingAdd(ms, ordering: .relaxed) }
    }

    private let clock = Clock()
    private let broker: MemoryBroker

    init() throws {
        let clock = clock
        broker = MemoryBroker(keys: try Keys(namespace: "t"), now: { UInt64(clock.now) })
    }

    private func list(_ mark: String = "m", countMax: Int = 3) -> RevocationList {
        let clock = clock
        return RevocationList(
            broker: broker, countMax: countMax, nowMs: { clock.now }, makeMark: { mark },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private func isRevoked(_ uid: String, in list: RevocationList) -> Bool {
        list.revocation(of: Auth(uid: uid, token: [:]), apiKey: nil) != nil
    }

    @Test func revocationsOfANodeAreReadAndTakenBackByOthers() async throws {
        let (one, two) = (list(), list())
        #expect(try await two.refresh() == false)
        try await one.revoke(.uid("ann"), forMs: nil, sparesLaterTokens: false)
        #expect(isRevoked("ann", in: one) && !isRevoked("ann", in: two))
        #expect(try await two.refresh())
        #expect(isRevoked("ann", in: two))
        #expect(try await two.refresh() == false)
        try await two.lift(.uid("ann"))
        #expect(try await one.refresh())
        #expect(!isRevoked("ann", in: one))
        let error = await #expect(throws: RequestError.self) { try await one.lift(.uid("ann")) }
        #expect(error?.code == .notFound)
    }

    @Test func aNodeThatWasCutOffCatchesUp() async throws {
        let (one, two) = (list(), list())
        try await one.revoke(.uid("ann"), forMs: nil, sparesLaterTokens: false)
        try await two.refresh()
        broker.setAvailable(false)
        await #expect(throws: BrokerError.self) { try await two.refresh() }
        #expect(isRevoked("ann", in: two), "what it knew counts meanwhile")
        let refused = await #expect(throws: RequestError.self) {
            try await one.revoke(.uid("bob"), forMs: nil, sparesLaterTokens: false)
        }
        #expect(refused?.code == .unavailable)
        broker.setAvailable(true)
        try await one.lift(.uid("ann"))
        try await one.revoke(.uid("bob"), forMs: nil, sparesLaterTokens: false)
        #expect(try await two.refresh())
        #expect(!isRevoked("ann", in: two) && isRevoked("bob", in: two))
    }

    @Test func revocationsOutliveTheBrokersData() async throws {
        let (one, two) = (list(), list())
        try await one.revoke(.uid("ann"), forMs: nil, sparesLaterTokens: false)
        try await two.refresh()
        broker.restart(losingData: true)
        clock.advance(1)
        // Another node revokes a user before this one notices.
        let fresh = list("n")
        try await fresh.revoke(.uid("bob"), forMs: nil, sparesLaterTokens: false)
        #expect(try await two.refresh())
        try await fresh.refresh()
        try await one.refresh()
        for list in [one, two, fresh] { #expect(isRevoked("ann", in: list) && isRevoked("bob", in: list)) }
        #expect(try await one.refresh() == false, "it settles")
        #expect(try await two.refresh() == false)
    }

    @Test func theListIsBoundedAndWhatIsOverMakesRoom() async throws {
        let one = list(countMax: 2)
        try await one.revoke(.uid("a"), forMs: 1_000, sparesLaterTokens: false)
        try await one.revoke(.uid("b"), forMs: nil, sparesLaterTokens: false)
        let full = await #expect(throws: RequestError.self) {
            try await one.revoke(.uid("c"), forMs: nil, sparesLaterTokens: false)
        }
        #expect(full?.code == .limitExceeded)
        try await one.revoke(.uid("b"), forMs: nil, sparesLaterTokens: true)
        clock.advance(1_000)
        try await one.revoke(.uid("c"), forMs: nil, sparesLaterTokens: false)
        #expect(one.current.entries.count == 2 && isRevoked("c", in: one))
        #expect(try await broker.overrides(in: .revocations).fields["uid:a"] == nil)
        #expect(try await broker.overrides().fields.isEmpty, "a table of its own")
    }
}
