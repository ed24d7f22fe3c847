import DequeModule
package import LiveModel
import Pacing

/// The holder of a quota: everything that one user, or one address, does on a node counts towards it.
package enum QuotaSubject: Hashable, Sendable {
    /// A user by `auth.uid`.
    case user(String)
    /// The client's network address without the port, or its network (`ClientAddresses`).
    case address(String)

    package var name: String {
        switch self {
        case .user(let name), .address(let name): name
        }
    }
}

/// A resource that a quota limits, per subject on one node.
package enum QuotaResource: Hashable, Sendable, CaseIterable {
    /// An open connection of a session protocol, an open stream, a waiting long-poll.
    case session
    case subscription
    /// A request that is being answered.
    case request
}

/// A use of a node, with the resources that it needs: acquired as a whole or not at all.
package enum QuotaUse: Hashable, Sendable {
    /// A connection of a session protocol.
    case session
    case request
    /// A subscription of a session to a live query.
    case subscription(of: LiveQueryKey)
    /// A stream or long-poll: a session with one subscription.
    case stream(of: LiveQueryKey)

    func needs(_ resource: QuotaResource) -> Bool {
        switch (self, resource) {
        case (.session, .session), (.stream, .session), (.subscription, .subscription), (.stream, .subscription),
            (.request, .request):
            true
        default: false
        }
    }

    var liveQuery: LiveQueryKey? {
        switch self {
        case .session, .request: nil
        case .subscription(let key), .stream(let key): key
        }
    }
}

/// The resources that each user and each address currently holds on a node. Bounded: subjects that hold nothing are
/// absent, so there are at most as many entries as sessions, subscriptions and requests, and `lingeringMax`.
///
/// A live query that lost its last subscription still costs its owner and this node until it ends (`lingerMs`). An
/// address that follows ever new live queries and cuts its connections would fill the gateway with them. So at most
/// `lingeringPerAddress` linger for it, and further ones end at once. The live query of an answered long-poll counts
/// as followed.
package struct QuotaLedger: Sendable {
    struct Held {
        var sessions = 0
        var subscriptions = 0
        var requests = 0
        /// The subscriptions of each live query that an address follows.
        var followed: [LiveQueryKey: Int] = [:]
        /// The times until which live queries linger for an address; `lingersNoMore` for one that stopped earlier and
        /// whose entry has not lapsed yet.
        private(set) var lingering: [LiveQueryKey: Int64] = [:]
        private(set) var lingeringCount = 0
        private static let lingersNoMore = Int64.min

        func lingers(_ key: LiveQueryKey, nowMs: Int64) -> Bool { lingering[key] ?? Self.lingersNoMore > nowMs }

        /// - Returns: whether there was no entry before.
        mutating func linger(_ key: LiveQueryKey, untilMs: Int64) -> Bool {
            let former = lingering.updateValue(untilMs, forKey: key)
            if former ?? Self.lingersNoMore == Self.lingersNoMore { lingeringCount += 1 }
            return former == nil
        }

        /// Ends the lingering and keeps the entry.
        mutating func lingersNoMore(_ key: LiveQueryKey) {
            guard let untilMs = lingering[key], untilMs != Self.lingersNoMore else { return }
            lingering[key] = Self.lingersNoMore
            lingeringCount -= 1
        }

        mutating func removeLingering(_ key: LiveQueryKey) {
            lingersNoMore(key)
            lingering[key] = nil
        }

        subscript(resource: QuotaResource) -> Int {
            get {
                switch resource {
                case .session: sessions
                case .subscription: subscriptions
                case .request: requests
                }
            }
            set {
                switch resource {
                case .session: sessions = newValue
                case .subscription: subscriptions = newValue
                case .request: requests = newValue
                }
            }
        }

        var isNothing: Bool {
            sessions == 0 && subscriptions == 0 && requests == 0 && followed.isEmpty && lingering.isEmpty
        }
    }

    /// The end of a lingering live query's entry.
    struct Lapse {
        let atMs: Int64
        let subject: QuotaSubject
        let key: LiveQueryKey
    }

    /// The maximum number of entries of lingering live queries, of all addresses.
    private let lingeringMax: Int

    private let limits: QuotaLimits
    /// The live queries that addresses began to follow recently.
    private var starts: KeyedBuckets<QuotaSubject>
    private(set) var held: [QuotaSubject: Held] = [:]
    /// One for each entry of a lingering live query, the earliest first.
    private(set) var lapses: Deque<Lapse> = []

    package init(_ limits: QuotaLimits, lingeringMax: Int = 200_000) {
        self.limits = limits
        self.lingeringMax = lingeringMax
        let rate = limits.liveQueryStartsPerAddress
        starts = KeyedBuckets(perSecond: rate.perSecond, burst: rate.burst, spreadMs: Self.retrySpreadMs)
    }

    /// The period over which refused clients of an address are asked to come back.
    package static let retrySpreadMs: Int64 = 60_000

    package func count(_ resource: QuotaResource, of subject: QuotaSubject) -> Int { held[subject]?[resource] ?? 0 }

    /// Returns how many distinct live queries an address follows.
    package func liveQueryCount(of subject: QuotaSubject) -> Int { held[subject]?.followed.count ?? 0 }

    /// Acquires the resources for all of the subjects, or for none.
    /// - Throws: `.limitExceeded`.
    package mutating func acquire(
        _ use: QuotaUse, for subjects: [QuotaSubject], nowMs: Int64 = 0
    ) throws(RequestError) {
        for subject in subjects { try require(use, limits.maxima(of: subject), subject) }
        if let key = use.liveQuery {
            for subject in subjects { try start(key, limits.maxima(of: subject), subject, nowMs: nowMs) }
        }
        for subject in subjects {
            let maxima = limits.maxima(of: subject)
            for resource in QuotaResource.allCases where use.needs(resource) && maxima[resource] > 0 {
                held[subject, default: Held()][resource] += 1
            }
            if let key = use.liveQuery, maxima.countLiveQueries {
                held[subject, default: Held()].followed[key, default: 0] += 1
                held[subject]?.lingersNoMore(key)
            }
        }
    }

    private func require(
        _ use: QuotaUse, _ maxima: QuotaLimits.Maxima, _ subject: QuotaSubject
    ) throws(RequestError) {
        for resource in QuotaResource.allCases where use.needs(resource) && maxima[resource] > 0 {
            guard count(resource, of: subject) < maxima[resource] else {
                throw Self.refusal(resource, subject, maxima[resource])
            }
        }
        guard let key = use.liveQuery, maxima.liveQueries > 0, let followed = held[subject]?.followed else { return }
        guard followed[key] != nil || followed.count < maxima.liveQueries else {
            throw RequestError(
                .limitExceeded,
                "this address has reached its maximum of \(maxima.liveQueries) live queries on this node")
        }
    }

    /// Counts a live query that is new to an address. One that lingers for it is not.
    private mutating func start(
        _ key: LiveQueryKey, _ maxima: QuotaLimits.Maxima, _ subject: QuotaSubject, nowMs: Int64
    ) throws(RequestError) {
        guard maxima.liveQueryStarts.perSecond > 0 else { return }
        if let held = held[subject], held.followed[key] != nil || held.lingers(key, nowMs: nowMs) { return }
        let waitMs = starts.begin(subject, nowMs: nowMs)
        guard waitMs > 0 else { return }
        throw RequestError(
            .limitExceeded, "this address begins too many live queries, try again later",
            // Whole seconds, the unit of `Retry-After`.
            retryAfterMs: Int((waitMs + 999) / 1_000 * 1_000))
    }

    /// Releases what was acquired before.
    /// - Parameters:
    ///   - nowMs: the time if the live query is to linger after its last subscription; nil if it is to end.
    ///   - isAnswered: whether the client got a response and will probably ask again. Then the live query counts for
    ///     its address as if it were followed, else towards those that may linger.
    /// - Returns: whether it may linger.
    @discardableResult
    package mutating func release(
        _ use: QuotaUse, for subjects: [QuotaSubject], lingersFrom nowMs: Int64? = nil, isAnswered: Bool = false
    ) -> Bool {
        if let nowMs { dropLapsed(nowMs: nowMs) }
        var mayLinger = nowMs != nil
        for subject in subjects {
            guard let index = held.index(forKey: subject) else { continue }
            for resource in QuotaResource.allCases where use.needs(resource) && held.values[index][resource] > 0 {
                held.values[index][resource] -= 1
            }
            if let key = use.liveQuery, let count = held.values[index].followed[key] {
                held.values[index].followed[key] = count > 1 ? count - 1 : nil
                if count == 1, let nowMs, !linger(key, subject, at: index, nowMs: nowMs, isAnswered: isAnswered) {
                    mayLinger = false
                }
            }
            if held.values[index].isNothing { held.remove(at: index) }
        }
        return mayLinger
    }

    private mutating func linger(
        _ key: LiveQueryKey, _ subject: QuotaSubject, at index: Dictionary<QuotaSubject, Held>.Index, nowMs: Int64,
        isAnswered: Bool
    ) -> Bool {
        let maxima = limits.maxima(of: subject)
        let count = held.values[index].lingeringCount
        let hasRoom =
            isAnswered
            ? maxima.liveQueries == 0 || held.values[index].followed.count + count < maxima.liveQueries
            : count < maxima.lingering
        guard hasRoom, lapses.count < lingeringMax || held.values[index].lingering[key] != nil else { return false }
        let untilMs = nowMs + limits.lingerMs
        if held.values[index].linger(key, untilMs: untilMs) {
            lapses.append(Lapse(atMs: untilMs, subject: subject, key: key))
        }
        return true
    }

    /// Removes the entries whose time is over. One that was extended gets another turn.
    private mutating func dropLapsed(nowMs: Int64) {
        while let lapse = lapses.first, lapse.atMs <= nowMs {
            lapses.removeFirst()
            guard let index = held.index(forKey: lapse.subject),
                let untilMs = held.values[index].lingering[lapse.key]
            else { preconditionFailure("\(lapse.key) has no entry of its address") }
            if untilMs > nowMs {
                lapses.append(Lapse(atMs: untilMs, subject: lapse.subject, key: lapse.key))
            } else {
                held.values[index].removeLingering(lapse.key)
                if held.values[index].isNothing { held.remove(at: index) }
            }
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
