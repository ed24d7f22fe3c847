package import LiveModel

/// The holder of a quota: everything that one user, or one address, does on a node counts towards it.
package enum QuotaSubject: Hashable, Sendable {
    /// A user by `auth.uid`.
    case user(String)
    /// The client's network address, without the port.
    case address(String)

    package var name: String {
        switch self {
        case .user(let name), .address(let name): name
        }
    }
}

/// What a quota limits, per subject on one node.
package enum QuotaResource: Hashable, Sendable, CaseIterable {
    /// An open connection of a session protocol, an open stream, a waiting long-poll.
    case session
    case subscription
    /// A request that is being answered.
    case request
}

/// The limits of each resource that one subject may hold at a time; 0 means unlimited.
package struct QuotaLimits: Sendable, Hashable {
    package struct Limit: Sendable, Hashable {
        package var perUser: Int
        package var perAddress: Int

        package init(perUser: Int = 0, perAddress: Int = 0) {
            self.perUser = perUser
            self.perAddress = perAddress
        }

        var isNone: Bool { perUser == 0 && perAddress == 0 }
    }

    package var sessions = Limit(perUser: 1_000, perAddress: 5_000)
    package var subscriptions = Limit(perUser: 10_000, perAddress: 50_000)
    package var requests = Limit(perUser: 256, perAddress: 512)
    /// Distinct live queries that an address follows: what its subscriptions cost beyond deliveries.
    package var liveQueriesPerAddress = 20_000
    /// Addresses without limits: those of the machine itself and of test drivers, which stand for many clients.
    package var uncounted = AddressSet(["127.0.0.0/8", "::1"]) ?? AddressSet()

    package init() {}

    /// Whether `resource` is counted for one of the subjects.
    package func counts(_ resource: QuotaResource, for subjects: [QuotaSubject]) -> Bool {
        subjects.contains { maximum(resource, of: $0) > 0 }
    }

    subscript(resource: QuotaResource) -> Limit {
        switch resource {
        case .session: sessions
        case .subscription: subscriptions
        case .request: requests
        }
    }

    /// Whether the subject's live queries are counted.
    package func limitsLiveQueries(of subject: QuotaSubject) -> Bool {
        guard liveQueriesPerAddress > 0, case .address(let address) = subject else { return false }
        return !uncounted.contains(address)
    }

    func maximum(_ resource: QuotaResource, of subject: QuotaSubject) -> Int {
        switch subject {
        case .user: self[resource].perUser
        case .address(let address): uncounted.contains(address) ? 0 : self[resource].perAddress
        }
    }
}

/// The resources that each user and each address currently holds on a node. Bounded: subjects that hold nothing are
/// absent, so there are at most as many entries as sessions, subscriptions and requests.
package struct QuotaLedger: Sendable {
    struct Key: Hashable {
        let resource: QuotaResource
        let subject: QuotaSubject
    }

    package let limits: QuotaLimits
    private(set) var counts: [Key: Int] = [:]
    /// The subscriptions of each live query that an address follows.
    private(set) var followed: [QuotaSubject: [LiveQueryKey: Int]] = [:]

    package init(_ limits: QuotaLimits) {
        self.limits = limits
    }

    package func count(_ resource: QuotaResource, of subject: QuotaSubject) -> Int {
        counts[Key(resource: resource, subject: subject)] ?? 0
    }

    /// Acquires one for all of the subjects, or for none.
    /// - Throws: `.limitExceeded`.
    package mutating func acquire(_ resource: QuotaResource, for subjects: [QuotaSubject]) throws(RequestError) {
        for subject in subjects {
            let maximum = limits.maximum(resource, of: subject)
            guard maximum == 0 || count(resource, of: subject) < maximum else {
                throw Self.refusal(resource, subject, maximum)
            }
        }
        for subject in subjects where limits.maximum(resource, of: subject) > 0 {
            counts[Key(resource: resource, subject: subject), default: 0] += 1
        }
    }

    /// Counts a subscription of a live query towards the addresses among the subjects.
    /// - Throws: `.limitExceeded` if it is one more live query than an address may follow.
    package mutating func follow(_ key: LiveQueryKey, for subjects: [QuotaSubject]) throws(RequestError) {
        for subject in subjects where limits.limitsLiveQueries(of: subject) {
            let known = followed[subject] ?? [:]
            guard known[key] != nil || known.count < limits.liveQueriesPerAddress else {
                throw RequestError(
                    .limitExceeded,
                    "this address has reached its maximum of \(limits.liveQueriesPerAddress) live queries on this node")
            }
        }
        for subject in subjects where limits.limitsLiveQueries(of: subject) {
            followed[subject, default: [:]][key, default: 0] += 1
        }
    }

    /// Ends a subscription that `follow` has counted.
    package mutating func unfollow(_ key: LiveQueryKey, for subjects: [QuotaSubject]) {
        for subject in subjects {
            guard let count = followed[subject]?[key] else { continue }
            followed[subject]?[key] = count > 1 ? count - 1 : nil
            if followed[subject]?.isEmpty == true { followed[subject] = nil }
        }
    }

    /// Returns how many distinct live queries an address follows.
    package func liveQueryCount(of subject: QuotaSubject) -> Int { followed[subject]?.count ?? 0 }

    /// Releases one that was acquired before.
    package mutating func release(_ resource: QuotaResource, for subjects: [QuotaSubject]) {
        for subject in subjects {
            let key = Key(resource: resource, subject: subject)
            guard let count = counts[key] else { continue }
            counts[key] = count > 1 ? count - 1 : nil
        }
    }

    private static func refusal(_ resource: QuotaResource, _ subject: QuotaSubject, _ maximum: Int) -> RequestError {
        let holder = if case .user = subject { "this user" } else { "this address" }
        let what =
            switch resource {
            case .session: "sessions"
            case .subscription: "subscriptions"
            case .request: "requests in flight"
            }
        return RequestError(.limitExceeded, "\(holder) has reached its maximum of \(maximum) \(what) on this node")
    }
}
