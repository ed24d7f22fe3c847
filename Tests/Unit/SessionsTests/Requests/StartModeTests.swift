import GraphQLLanguage
import Sessions
import Testing

@Suite struct StartModeTests {
    private static let allWanted: [OperationKind?] = [nil, .query, .mutation, .subscription]

    @Test func byTextFollowsQueriesThatTheirTextDoesNotCallQuery() {
        let followed = Self.allWanted.map { StartMode.byText.isFollowed(isQuery: true, wanted: $0) }
        #expect(followed == [true, false, false, true])
    }

    @Test func byTextRunsAnUnnamedQueryOnceForAClientThatPrefersASingleResponse() {
        let followed = Self.allWanted.map {
            StartMode.byText.isFollowed(isQuery: true, wanted: $0, prefersStream: false)
        }
        #expect(followed == [false, false, false, true])
    }

    @Test func followAndOnceDoNotDependOnTheText() {
        for wanted in Self.allWanted {
            for prefersStream in [true, false] {
                let follow = StartMode.follow.isFollowed(isQuery: true, wanted: wanted, prefersStream: prefersStream)
                let once = StartMode.once.isFollowed(isQuery: true, wanted: wanted, prefersStream: prefersStream)
                #expect(follow && !once)
            }
        }
    }

    @Test(arguments: [StartMode.byText, .follow, .once])
    func mutationIsNeverFollowed(mode: StartMode) {
        for wanted in Self.allWanted {
            let isFollowed = mode.isFollowed(isQuery: false, wanted: wanted)
            #expect(!isFollowed)
        }
    }
}
