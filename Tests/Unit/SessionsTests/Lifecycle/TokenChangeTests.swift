import LiveModel
import Sessions
import Testing

@Suite struct TokenChangeTests {
    private let one = SessionFixture.query(1).key
    private let two = SessionFixture.query(2).key

    @Test func aSubscriptionGoesOnIfItsLiveQueryIsTheSame() {
        #expect(TokenChange(followed: one, key: one, refusal: nil) == .goesOn)
        #expect(TokenChange(followed: one, key: two, refusal: nil) == .restarts)
    }

    @Test func aSuspendedSubscriptionRestarts() {
        #expect(TokenChange(followed: nil, key: one, refusal: nil) == .restarts)
    }

    @Test func aRefusedSubscriptionEnds() {
        for followed in [one, two, nil] {
            #expect(TokenChange(followed: followed, key: one, refusal: .tokenExpired) == .ends(.tokenExpired))
        }
    }

    @Test func subscriptionsThatNeedATokenAreSuspended() {
        let followed: [(id: String, signedOut: TokenChange?)] = [
            ("public", .goesOn), ("mine", .ends(.tokenExpired)), ("filtered", .restarts), ("unknown", nil),
        ]
        #expect(TokenEnd(takesNewTokens: true, followed: followed) == .suspends(["mine", "filtered", "unknown"]))
        #expect(TokenEnd(takesNewTokens: false, followed: followed) == .endsAll)
    }

    @Test func nothingIsSuspendedIfNothingNeedsAToken() {
        #expect(TokenEnd(takesNewTokens: true, followed: []) == .goesOn)
        #expect(TokenEnd(takesNewTokens: true, followed: [("public", .goesOn)]) == .goesOn)
    }
}
