import LiveModel
import Sessions
import TestSupport
import Testing

@testable import Gateway

@Suite struct QuotaGateTests {
    /// The node's own limit and those of its users: a request that one refuses does not count for the other.
    @Test func requestsOfTheNodeAndOfItsUsers() throws {
        var limits = QuotaLimits()
        limits.requests = .init(perUser: 2)
        let quotas = QuotaGate(limits, requestsMax: 3)
        let (ann, bob) = ([QuotaSubject.user("ann")], [QuotaSubject.user("bob")])
        func refusal(_ who: [QuotaSubject]) -> ErrorCode? {
            failure { () throws(RequestError) in try quotas.acquireRequest(for: who) }?.code
        }
        #expect([refusal(ann), refusal(ann)] == [nil, nil])
        for _ in 0..<5 { #expect(refusal(ann) == .limitExceeded) }
        #expect(refusal(bob) == nil)
        for _ in 0..<5 { #expect(refusal(bob) == .unavailable) }
        quotas.releaseRequest(for: ann)
        #expect([refusal(bob), refusal(bob)] == [nil, .unavailable])
        quotas.releaseRequest(for: bob)
        #expect(refusal(ann) == nil)
        #expect(quotas.count(.request, of: ann[0]) == 2 && quotas.count(.request, of: bob[0]) == 1)
    }

    /// Live queries count once for an address, however it follows them; a refusal leaves nothing behind.
    @Test func liveQueriesOfAnAddress() throws {
        var limits = QuotaLimits()
        limits.liveQueriesPerAddress = 1
        let quotas = QuotaGate(limits)
        let registry = SessionRegistry()
        let home = QuotaSubject.address("192.0.2.1")
        let keys = (0..<2).map { LiveQueryKey(digest: Digest(of: [UInt8($0)])) }
        let first = try SessionPermit(streamOf: keys[0], for: [home], registry, quotas)
        try quotas.acquire(.subscription(of: keys[0]), for: [home])
        #expect(throws: RequestError.self) { try SessionPermit(streamOf: keys[1], for: [home], registry, quotas) }
        #expect(throws: RequestError.self) { try quotas.acquire(.subscription(of: keys[1]), for: [home]) }
        #expect(quotas.count(.session, of: home) == 1 && quotas.count(.subscription, of: home) == 2)
        #expect(quotas.liveQueryCount(of: home) == 1)
        first.end()
        quotas.release(.subscription(of: keys[0]), for: [home])
        #expect(quotas.count(.subscription, of: home) == 0 && quotas.liveQueryCount(of: home) == 0)
        try quotas.acquire(.subscription(of: keys[1]), for: [home])
    }

    @Test func clientIsTheUserElseTheAddressUnlessThatStandsForMany() {
        var limits = QuotaLimits()
        limits.uncounted = AddressSet(["127.0.0.1"])!
        let quotas = QuotaGate(limits)
        let (ann, home) = (QuotaSubject.user("ann"), QuotaSubject.address("192.0.2.1"))
        #expect(quotas.client(of: [home, ann]) == ClientID(user: "ann"))
        #expect(quotas.client(of: [home]) == ClientID(address: "192.0.2.1"))
        #expect(quotas.client(of: [.address("127.0.0.1")]) == nil && quotas.client(of: []) == nil)
        #expect(quotas.client(of: [.address("127.0.0.1"), ann]) == ClientID(user: "ann"))
    }

    @Test func addressBeginsSessionsAtItsRate() {
        var limits = QuotaLimits()
        limits.startsPerAddress = .init(perSecond: 2, burst: 3)
        limits.uncounted = AddressSet(["127.0.0.1"])!
        let quotas = QuotaGate(limits)
        let home = QuotaSubject.address("192.0.2.1")
        for _ in 0..<3 { #expect(quotas.beginSession(from: home, nowMs: 0) == nil) }
        #expect((0..<4).map { _ in quotas.beginSession(from: home, nowMs: 0) } == [500, 1_000, 1_500, 2_000])
        #expect(quotas.beginSession(from: .address("192.0.2.2"), nowMs: 0) == nil)
        for _ in 0..<9 { #expect(quotas.beginSession(from: .address("127.0.0.1"), nowMs: 0) == nil) }
        #expect(quotas.beginSession(from: nil, nowMs: 0) == nil)
        #expect(quotas.beginSession(from: home, nowMs: 500) == nil)
        #expect(SessionRegistry().refusalOfAddress(retryAfterMs: 500).retryAfterMs == 1_000)
    }

    /// A permit counts its session and its subscription together, and gives both back once.
    @Test func aPermitHoldsAllOrNothing() throws {
        var limits = QuotaLimits()
        limits.sessions = .init(perUser: 2)
        limits.subscriptions = .init(perUser: 1)
        let quotas = QuotaGate(limits)
        let registry = SessionRegistry()
        let ann = QuotaSubject.user("ann")
        let key = LiveQueryKey(digest: Digest(of: []))
        let first = try SessionPermit(streamOf: key, for: [ann], registry, quotas)
        #expect(throws: RequestError.self) { try SessionPermit(streamOf: key, for: [ann], registry, quotas) }
        #expect(quotas.count(.session, of: ann) == 1)
        first.end()
        first.end()
        #expect(quotas.count(.session, of: ann) == 0 && quotas.count(.subscription, of: ann) == 0)
        // Nobody holds it: its connection broke before the session began.
        _ = try SessionPermit(streamOf: key, for: [ann], registry, quotas)
        #expect(quotas.count(.session, of: ann) == 0)
    }
}
