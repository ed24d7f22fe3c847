import LiveModel
import Sessions
import Testing

@testable import Gateway

@Suite struct QuotaGateTests {
    /// The node's own bound and those of the parties: what is refused by one is not counted by the other.
    @Test func requestsOfTheNodeAndOfItsUsers() throws {
        var limits = QuotaLimits()
        limits.requests = .init(perUser: 2)
        let parties = QuotaGate(limits, requestsMax: 3)
        let (ann, bob) = ([QuotaSubject.user("ann")], [QuotaSubject.user("bob")])
        func refusal(_ who: [QuotaSubject]) -> ErrorCode? {
            do throws(RequestError) {
                try parties.takeRequest(for: who)
                return nil
            } catch {
                return error.code
            }
        }
        #expect([refusal(ann), refusal(ann)] == [nil, nil])
        for _ in 0..<5 { #expect(refusal(ann) == .limitExceeded) }
        #expect(refusal(bob) == nil)
        for _ in 0..<5 { #expect(refusal(bob) == .unavailable) }
        parties.giveRequest(for: ann)
        #expect([refusal(bob), refusal(bob)] == [nil, .unavailable])
        parties.giveRequest(for: bob)
        #expect(refusal(ann) == nil)
        #expect(parties.count(.request, of: ann[0]) == 2 && parties.count(.request, of: bob[0]) == 1)
    }
}
