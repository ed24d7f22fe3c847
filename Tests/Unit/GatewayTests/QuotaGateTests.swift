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
