package import LiveModel

/// Who shares a limit with others.
package enum QuotaSubject: Hashable, Sendable {
    /// By `auth.uid`.
    case user(String)
    /// Of the network, without the port.
    case address(String)
}

/// What is counted of each party on one node.
package enum QuotaResource: Hashable, Sendable, CaseIterable {
    /// An open connection of a session protocol, an open stream, a waiting long-poll.
    case session
    case subscription
    /// A request that is being answered.
    case request
}

/// How much of each one party may have at a time; 0: any number.
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

    package var sessions = Limit()
    package var subscriptions = Limit()
    package var requests = Limit()

    package init() {}

    /// Whether anything is counted by address; when not, nobody needs to find out a request's.
    package var countsAddresses: Bool { QuotaResource.allCases.contains { self[$0].perAddress > 0 } }

    /// Whether `thing` is counted at all.
    package func counts(_ thing: QuotaResource) -> Bool { !self[thing].isNone }

    subscript(thing: QuotaResource) -> Limit {
        switch thing {
        case .session: sessions
        case .subscription: subscriptions
        case .request: requests
        }
    }

    func maximum(_ thing: QuotaResource, of party: QuotaSubject) -> Int {
        switch party {
        case .user: self[thing].perUser
        case .address: self[thing].perAddress
        }
    }
}

/// What every user and every address has on a node at the moment. Bound: nobody is in it who has nothing, so as many as
/// there are sessions, subscriptions and requests.
package struct QuotaLedger: Sendable {
    private struct Key: Hashable {
        let thing: QuotaResource
        let party: QuotaSubject
    }

    package let limits: QuotaLimits
    private var counts: [Key: Int] = [:]

    package init(_ limits: QuotaLimits) {
        self.limits = limits
    }

    /// How many subjects hold anything.
    package var partyCount: Int { counts.count }

    package func count(_ thing: QuotaResource, of party: QuotaSubject) -> Int {
        counts[Key(thing: thing, party: party)] ?? 0
    }

    /// One more for all of them, or for none.
    /// - Throws: `.limitExceeded`.
    package mutating func take(_ thing: QuotaResource, for parties: [QuotaSubject]) throws(RequestError) {
        for party in parties {
            let maximum = limits.maximum(thing, of: party)
            guard maximum == 0 || count(thing, of: party) < maximum else { throw Self.refusal(thing, party, maximum) }
        }
        for party in parties where limits.maximum(thing, of: party) > 0 {
            counts[Key(thing: thing, party: party), default: 0] += 1
        }
    }

    /// What was taken before.
    package mutating func give(_ thing: QuotaResource, for parties: [QuotaSubject]) {
        for party in parties {
            let key = Key(thing: thing, party: party)
            guard let count = counts[key] else { continue }
            counts[key] = count > 1 ? count - 1 : nil
        }
    }

    private static func refusal(_ thing: QuotaResource, _ party: QuotaSubject, _ maximum: Int) -> RequestError {
        let who = if case .user = party { "this user" } else { "this address" }
        let what =
            switch thing {
            case .session: "sessions"
            case .subscription: "subscriptions"
            case .request: "requests in flight"
            }
        return RequestError(.limitExceeded, "\(who) has its maximum of \(maximum) \(what) on this node")
    }
}
