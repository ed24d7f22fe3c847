import LiveModel
import Testing

@testable import Sessions

@Suite struct QuotaLedgerTests {
    private let ann = QuotaSubject.user("ann")
    private let bob = QuotaSubject.user("bob")
    private let home = QuotaSubject.address("192.0.2.1")
    private let subscription = QuotaUse.subscription(of: LiveQueryKey(digest: Digest(of: [])))

    private func ledger(_ change: (inout QuotaLimits) -> Void) -> QuotaLedger {
        var limits = QuotaLimits()
        (limits.sessions, limits.subscriptions, limits.requests) = (.init(), .init(), .init())
        change(&limits)
        return QuotaLedger(limits)
    }

    private func isTaken(_ ledger: inout QuotaLedger, _ use: QuotaUse, _ subjects: [QuotaSubject]) -> Bool {
        do throws(RequestError) {
            try ledger.acquire(use, for: subjects)
            return true
        } catch {
            #expect(error.code == .limitExceeded)
            return false
        }
    }

    @Test func eachUserHasTheSameAndWhatIsGivenBackIsFree() {
        var ledger = ledger { $0.sessions.perUser = 2 }
        for subject in [ann, bob] {
            #expect(isTaken(&ledger, .session, [subject]))
            #expect(isTaken(&ledger, .session, [subject]))
            #expect(!isTaken(&ledger, .session, [subject]))
        }
        #expect(isTaken(&ledger, subscription, [ann]), "another resource has another limit, here none")
        ledger.release(.session, for: [ann])
        #expect(isTaken(&ledger, .session, [ann]))
        #expect(ledger.held.count == 2)
    }

    @Test func addressesThatStandForManyClientsAreNotCounted() {
        var ledger = ledger {
            $0.sessions = .init(perUser: 2, perAddress: 1)
            $0.uncounted = AddressSet(["127.0.0.0/8", "::1"])!
        }
        for address in ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"] {
            for _ in 0..<3 { #expect(isTaken(&ledger, .session, [.address(address)])) }
        }
        #expect(ledger.held.isEmpty)
        #expect(isTaken(&ledger, .session, [home]))
        #expect(!isTaken(&ledger, .session, [home]))
        // Users are counted wherever they are.
        for _ in 0..<2 { #expect(isTaken(&ledger, .session, [.address("127.0.0.1"), ann])) }
        #expect(!isTaken(&ledger, .session, [.address("127.0.0.1"), ann]))
    }

    /// Many subscriptions of one live query cost one run, so they count once.
    @Test func anAddressFollowsOnlySoManyDistinctLiveQueries() throws {
        var ledger = ledger { $0.liveQueriesPerAddress = 2 }
        let keys = (0..<3).map { LiveQueryKey(digest: Digest(of: [UInt8($0)])) }
        for key in [keys[0], keys[0], keys[1]] { try ledger.acquire(.subscription(of: key), for: [home, ann]) }
        #expect(ledger.liveQueryCount(of: home) == 2)
        let error = #expect(throws: RequestError.self) { try ledger.acquire(.subscription(of: keys[2]), for: [home]) }
        #expect(error?.code == .limitExceeded && error?.message.contains("2 live queries") == true)
        try ledger.acquire(.subscription(of: keys[2]), for: [.address("127.0.0.1"), ann])
        try ledger.acquire(.subscription(of: keys[2]), for: [.address("192.0.2.2")])
        ledger.release(.subscription(of: keys[0]), for: [home, ann])
        #expect(throws: RequestError.self) { try ledger.acquire(.subscription(of: keys[2]), for: [home]) }
        ledger.release(.subscription(of: keys[0]), for: [home, ann])
        try ledger.acquire(.subscription(of: keys[2]), for: [home])
        for key in [keys[1], keys[2]] { ledger.release(.subscription(of: key), for: [home]) }
        ledger.release(.subscription(of: keys[2]), for: [.address("192.0.2.2"), .address("127.0.0.1"), ann])
        #expect(ledger.held.isEmpty)
    }

    /// A client that follows ever new live queries and cuts its connections would otherwise fill the gateway.
    @Test func onlySoManyLiveQueriesLingerForAnAddress() throws {
        var ledger = ledger {
            $0.lingeringPerAddress = 10
            $0.lingerMs = 1_000
        }
        func key(_ number: Int) -> LiveQueryKey { LiveQueryKey(digest: Digest(of: "\(number)".utf8)) }
        /// Follows these at once, cuts them, and counts those that linger.
        func cut(_ numbers: Range<Int>, _ subjects: [QuotaSubject], nowMs: Int64) throws -> Int {
            for number in numbers { try ledger.acquire(.subscription(of: key(number)), for: subjects) }
            var count = 0
            for number in numbers {
                let use = QuotaUse.subscription(of: key(number))
                if ledger.release(use, for: subjects, lingersFrom: nowMs) { count += 1 }
            }
            return count
        }
        let counts = [
            try cut(0..<8, [home, ann], nowMs: 0),
            // The others end at once.
            try cut(100..<110, [home, ann], nowMs: 10),
            // Live queries that linger already may do so again.
            try cut(0..<8, [home], nowMs: 500),
            try cut(100..<110, [.address("192.0.2.2")], nowMs: 500),
            // This address is not counted.
            try cut(200..<210, [.address("127.0.0.1"), ann], nowMs: 500),
        ]
        #expect(counts == [8, 2, 8, 10, 10])
        #expect(ledger.lapses.count == 20)
        let later = [try cut(300..<310, [home], nowMs: 1_010), try cut(300..<310, [home], nowMs: 1_600)]
        #expect(later == [2, 10])
        // A live query that its client ended does not linger.
        try ledger.acquire(.stream(of: key(1)), for: [home])
        let ended = ledger.release(.stream(of: key(1)), for: [home])
        try ledger.acquire(.session, for: [bob])
        ledger.release(.session, for: [bob], lingersFrom: 9_000)
        #expect(!ended && ledger.held.isEmpty && ledger.lapses.isEmpty)
    }

    /// Each new one costs a run, also if its subscription ends at once.
    @Test func addressBeginsLiveQueriesAtItsRate() throws {
        var ledger = ledger {
            $0.liveQueriesPerAddress = 0
            $0.liveQueryStartsPerAddress = .init(perSecond: 2, burst: 3)
            $0.lingeringPerAddress = 1
        }
        func key(_ number: Int) -> LiveQueryKey { LiveQueryKey(digest: Digest(of: "\(number)".utf8)) }
        func refusal(_ number: Int, _ subjects: [QuotaSubject], nowMs: Int64) -> RequestError? {
            do throws(RequestError) {
                try ledger.acquire(.subscription(of: key(number)), for: subjects, nowMs: nowMs)
                return nil
            } catch {
                return error
            }
        }
        for number in 0..<3 { #expect(refusal(number, [home, ann], nowMs: 0) == nil) }
        let errors = (3..<6).map { refusal($0, [home, ann], nowMs: 0) }
        #expect(errors.map { $0?.code } == [.limitExceeded, .limitExceeded, .limitExceeded])
        #expect(errors.map { $0?.retryAfterMs } == [1_000, 1_000, 2_000], "spread, in whole seconds")
        #expect(ledger.liveQueryCount(of: home) == 3, "what is refused is not followed")
        // Live queries that the address follows already, other addresses, and addresses that are not counted.
        for number in 0..<3 { #expect(refusal(number, [home], nowMs: 0) == nil) }
        #expect(refusal(3, [.address("192.0.2.2"), ann], nowMs: 0) == nil)
        for number in 10..<20 { #expect(refusal(number, [.address("127.0.0.1"), ann], nowMs: 0) == nil) }
        // One that lingers has cost its run.
        for _ in 0..<2 { ledger.release(.subscription(of: key(0)), for: [home], lingersFrom: 0) }
        for _ in 0..<2 { ledger.release(.subscription(of: key(1)), for: [home], lingersFrom: 0) }
        #expect(ledger.lapses.count == 1)
        #expect(refusal(0, [home], nowMs: 10) == nil && refusal(1, [home], nowMs: 10) != nil)
        #expect(refusal(1, [home], nowMs: 500) == nil, "a new one every 500 ms")
    }

    /// A live query stops lingering when its address follows it again or ends it: it takes no place and costs nothing.
    @Test func onlyWhatNobodyFollowsTakesAPlace() throws {
        var ledger = ledger {
            $0.lingeringPerAddress = 2
            $0.lingerMs = 1_000
            $0.liveQueryStartsPerAddress = .init(perSecond: 1, burst: 3)
        }
        func use(_ number: Int) -> QuotaUse {
            .subscription(of: LiveQueryKey(digest: Digest(of: "\(number)".utf8)))
        }
        for number in 0..<3 { try ledger.acquire(use(number), for: [home], nowMs: 0) }
        let cut = (0..<3).map { ledger.release(use($0), for: [home], lingersFrom: 0) }
        #expect(cut == [true, true, false])
        try ledger.acquire(use(0), for: [home], nowMs: 10)
        // Its client ends it: beginning it again costs a run.
        ledger.release(use(0), for: [home])
        #expect(throws: RequestError.self) { try ledger.acquire(use(0), for: [home], nowMs: 20) }
        try ledger.acquire(use(1), for: [home], nowMs: 30)
        #expect(ledger.lapses.count == 2, "entries last until they lapse")
        // Both places are free.
        try ledger.acquire(use(2), for: [home], nowMs: 2_000)
        let again = [1, 2].map { ledger.release(use($0), for: [home], lingersFrom: 2_100) }
        #expect(again == [true, true] && ledger.lapses.count == 2)
        ledger.release(.session, for: [bob], lingersFrom: 5_000)
        #expect(ledger.held.isEmpty && ledger.lapses.isEmpty, "nothing is left")
    }

    @Test func liveQueriesOfAnsweredPollsCountAsFollowed() throws {
        var ledger = ledger {
            $0.lingeringPerAddress = 1
            $0.liveQueriesPerAddress = 5
        }
        func use(_ number: Int) -> QuotaUse { .stream(of: LiveQueryKey(digest: Digest(of: "\(number)".utf8))) }
        for number in 0..<5 { try ledger.acquire(use(number), for: [home], nowMs: 0) }
        let answered = (0..<5).map { ledger.release(use($0), for: [home], lingersFrom: 0, isAnswered: true) }
        #expect(answered == [true, true, true, true, true])
        try ledger.acquire(use(9), for: [home], nowMs: 0)
        let sixth = ledger.release(use(9), for: [home], lingersFrom: 0, isAnswered: true)
        #expect(!sixth)
    }

    @Test func onlySoManyLiveQueriesLingerInAll() throws {
        var ledger = QuotaLedger(QuotaLimits(), lingeringMax: 50)
        var count = 0
        for number in 0..<60 {
            let subjects = [QuotaSubject.address("a\(number)")]
            try ledger.acquire(subscription, for: subjects)
            if ledger.release(subscription, for: subjects, lingersFrom: 0) { count += 1 }
        }
        #expect(count == 50 && ledger.lapses.count == 50 && ledger.held.count == 50)
    }

    @Test func quotasAreAcquiredForAllSubjectsOrNone() {
        var ledger = ledger {
            $0.subscriptions.perUser = 5
            $0.subscriptions.perAddress = 1
        }
        #expect(isTaken(&ledger, subscription, [home, ann]))
        for _ in 0..<9 { #expect(!isTaken(&ledger, subscription, [home, ann])) }
        #expect(ledger.count(.subscription, of: ann) == 1, "what is refused counts for nobody")
        for _ in 0..<4 { #expect(isTaken(&ledger, subscription, [ann])) }
        #expect(!isTaken(&ledger, subscription, [.address("192.0.2.2"), ann]))
        #expect(ledger.count(.subscription, of: .address("192.0.2.2")) == 0)
    }

    @Test func subjectsWithoutUsageAreRemoved() {
        var ledger = ledger {
            $0.requests = .init(perUser: 3, perAddress: 3)
            $0.sessions.perUser = 1
        }
        for number in 0..<1_000 {
            let subjects = [QuotaSubject.user("u\(number)"), .address("a\(number)")]
            #expect(isTaken(&ledger, .request, subjects))
            ledger.release(.request, for: subjects)
        }
        ledger.release(.request, for: [ann])
        #expect(ledger.held.isEmpty)
    }

    // MARK: Addresses behind proxies

    @Test func theClientIsTheLastAddressThatIsNoTrustedProxy() throws {
        let proxies = try #require(AddressSet(["10.0.0.0/8", "fd00::/8", "192.0.2.7"]))
        #expect(proxies.client(peer: "198.51.100.1", forwarded: "203.0.113.5") == "198.51.100.1", "not believed")
        #expect(proxies.client(peer: "10.1.2.3", forwarded: "203.0.113.5") == "203.0.113.5")
        #expect(proxies.client(peer: "10.1.2.3", forwarded: "6.6.6.6, 203.0.113.5, 192.0.2.7") == "203.0.113.5")
        #expect(proxies.client(peer: "fd12::1", forwarded: "2001:db8::5") == "2001:db8::5")
        #expect(proxies.client(peer: "::ffff:10.1.2.3", forwarded: "203.0.113.5") == "203.0.113.5")
        #expect(proxies.client(peer: "10.1.2.3", forwarded: nil) == "10.1.2.3")
        #expect(proxies.client(peer: "10.1.2.3", forwarded: "unknown") == "10.1.2.3")
        #expect(proxies.client(peer: "10.1.2.3", forwarded: "10.9.9.9") == "10.9.9.9", "all trusted: the furthest")
        #expect(AddressSet().client(peer: "10.1.2.3", forwarded: "203.0.113.5") == "10.1.2.3")
    }

    @Test func networksAreReadToTheBit() throws {
        let set = try #require(AddressSet(["10.16.0.0/12", "2001:db8:8000::/33", "0.0.0.0/32"]))
        #expect(set.contains("10.31.255.255") && !set.contains("10.32.0.0") && !set.contains("10.15.0.0"))
        #expect(set.contains("2001:db8:ffff::1") && !set.contains("2001:db8:7fff::1"))
        #expect(set.contains("0.0.0.0") && !set.contains("0.0.0.1") && !set.contains("::"))
        for text in [
            "", "10.0.0", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "a", "1:2", "::1::", "10.0.0.256", "01.2.3.4",
            ":::",
        ] {
            #expect(AddressSet([text]) == nil, "\(text)")
        }
    }
}
