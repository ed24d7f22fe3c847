/// The limits of each resource that one subject may hold at a time; 0 means unlimited.
package struct QuotaLimits: Sendable, Hashable {
    package struct Limit: Sendable, Hashable {
        package var perUser: Int
        package var perAddress: Int

        package init(perUser: Int = 0, perAddress: Int = 0) {
            self.perUser = perUser
            self.perAddress = perAddress
        }
    }

    /// A rate of one address; 0 per second means unlimited.
    package struct Rate: Sendable, Hashable {
        package var perSecond: Int
        package var burst: Int

        package init(perSecond: Int, burst: Int) {
            self.perSecond = perSecond
            self.burst = burst
        }
    }

    /// Messages of all sessions of an address.
    package var messagesPerAddress = Rate(perSecond: 1_000, burst: 10_000)
    /// Sessions that an address begins.
    package var startsPerAddress = Rate(perSecond: 250, burst: 1_000)
    package var sessions = Limit(perUser: 1_000, perAddress: 5_000)
    package var subscriptions = Limit(perUser: 10_000, perAddress: 50_000)
    package var requests = Limit(perUser: 256, perAddress: 512)
    /// Distinct live queries that an address follows: what its subscriptions cost beyond deliveries.
    package var liveQueriesPerAddress = 20_000
    /// Live queries that an address begins to follow: each costs a run. Those that linger for it cost none.
    package var liveQueryStartsPerAddress = Rate(perSecond: 250, burst: 20_000)
    /// Live queries that linger for an address: each costs a run at every change that concerns it, although nobody
    /// follows it.
    package var lingeringPerAddress = 20
    /// How long a live query without subscriptions lingers.
    package var lingerMs = InterestMachine.Settings().lingerMs
    /// Addresses without limits.
    package var uncounted = ClientAddresses().uncounted

    package init() {}

    /// The limits of one subject; 0 means unlimited.
    struct Maxima {
        var sessions = 0
        var subscriptions = 0
        var requests = 0
        var liveQueries = 0
        var liveQueryStarts = Rate(perSecond: 0, burst: 1)
        /// 0 means none.
        var lingering = Int.max

        var countLiveQueries: Bool { liveQueries > 0 || liveQueryStarts.perSecond > 0 || lingering < .max }

        subscript(resource: QuotaResource) -> Int {
            switch resource {
            case .session: sessions
            case .subscription: subscriptions
            case .request: requests
            }
        }
    }

    func maxima(of subject: QuotaSubject) -> Maxima {
        switch subject {
        case .user:
            Maxima(sessions: sessions.perUser, subscriptions: subscriptions.perUser, requests: requests.perUser)
        case .address(let address):
            uncounted.contains(address)
                ? Maxima()
                : Maxima(
                    sessions: sessions.perAddress, subscriptions: subscriptions.perAddress,
                    requests: requests.perAddress, liveQueries: liveQueriesPerAddress,
                    liveQueryStarts: liveQueryStartsPerAddress, lingering: lingeringPerAddress)
        }
    }
}
