import Execution
import JSON
import LiveModel
import Sessions
import TestSupport
import Testing

@testable import Gateway

/// The quotas that a session holds at its address and of its user.
@Suite struct SessionPermitTests {
    private static let home = QuotaSubject.address("192.0.2.1")
    private let quotas: QuotaGate
    private let registry = SessionRegistry()

    /// Every user may have one session.
    init() {
        var limits = QuotaLimits()
        limits.sessions = .init(perUser: 1, perAddress: 9)
        quotas = QuotaGate(limits)
    }

    private func user(_ name: String) -> Identity {
        Identity(auth: Auth(uid: name, token: [:]), expiresAtMs: nil)
    }

    private func connection() throws -> SessionPermit {
        try SessionPermit(connectionFrom: Self.home, registry, quotas)
    }

    /// The sessions of the address, of ann and of bob.
    private var counts: [Int] {
        [Self.home, .user("ann"), .user("bob")].map { quotas.count(.session, of: $0) }
    }

    private func refusal(_ permit: SessionPermit, _ identity: Identity) -> ErrorCode? {
        failure { () throws(RequestError) in try permit.change(to: identity) }?.code
    }

    @Test func permitMovesFromUserToUserAndEndsWithTheLast() throws {
        let permit = try connection()
        #expect(counts == [1, 0, 0])
        try permit.change(to: user("ann"))
        #expect(counts == [1, 1, 0])
        try permit.change(to: user("bob"))
        #expect(counts == [1, 0, 1])
        permit.end()
        permit.end()
        #expect(counts == [0, 0, 0])
    }

    @Test func permitOfTheSameUserIsNotAcquiredTwice() throws {
        let permit = try connection()
        try permit.change(to: user("ann"))
        #expect(refusal(permit, user("ann")) == nil)
        #expect(counts == [1, 1, 0])
        try permit.change(to: .signedOut)
        #expect(counts == [1, 0, 0])
    }

    @Test func permitStaysWithItsUserIfTheNextOneHasTooManySessions() throws {
        let (first, second) = (try connection(), try connection())
        try first.change(to: user("ann"))
        try second.change(to: user("bob"))
        #expect(refusal(second, user("ann")) == .limitExceeded)
        #expect(counts == [2, 1, 1])
        second.end()
        #expect(counts == [1, 1, 0])
    }

    @Test func permitThatHasEndedAcquiresNothing() throws {
        let permit = try connection()
        permit.end()
        #expect(refusal(permit, user("ann")) == nil)
        #expect(counts == [0, 0, 0])
    }

    @Test func permitOfAStreamMovesItsSubscriptionToo() throws {
        let key = LiveQueryKey(digest: Digest(of: []))
        var limits = QuotaLimits()
        limits.sessions = .init(perUser: 9)
        limits.subscriptions = .init(perUser: 9)
        let quotas = QuotaGate(limits)
        let (ann, bob) = (QuotaSubject.user("ann"), QuotaSubject.user("bob"))
        let permit = try SessionPermit(streamOf: key, for: [Self.home, ann], registry, quotas)
        try permit.change(to: user("bob"))
        #expect(quotas.count(.session, of: ann) == 0 && quotas.count(.subscription, of: ann) == 0)
        #expect(quotas.count(.session, of: bob) == 1 && quotas.count(.subscription, of: bob) == 1)
        #expect(permit.client == ClientID(user: "bob"))
    }
}
