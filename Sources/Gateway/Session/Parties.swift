package import Execution
package import LiveModel
internal import Metrics
package import Sessions
internal import Synchronization

/// What users and addresses have on this node, and how many requests are being answered by it: for sessions of all event
/// loops and requests of all tasks.
package final class Parties: Sendable {
    /// See `PartyLimits.countsAddresses`.
    package let countsAddresses: Bool
    private let limits: PartyLimits
    private let ledger: Mutex<PartyLedger>
    private let requestsMax: Int
    private let requests = Atomic<Int>(0)
    private let refused = Counter(label: "freshet_requests_refused_total")

    /// - Parameter requestsMax: requests being answered at a time, of whoever; more are refused.
    package init(_ limits: PartyLimits = PartyLimits(), requestsMax: Int = .max) {
        self.limits = limits
        self.requestsMax = requestsMax
        countsAddresses = limits.countsAddresses
        ledger = Mutex(PartyLedger(limits))
    }

    /// - Throws: `.limitExceeded`.
    package func take(_ thing: PartyThing, for parties: [Party]) throws(RequestError) {
        guard limits.counts(thing), !parties.isEmpty else { return }
        try ledger.withLock { ledger throws(RequestError) in try ledger.take(thing, for: parties) }
    }

    package func give(_ thing: PartyThing, for parties: [Party]) {
        guard limits.counts(thing), !parties.isEmpty else { return }
        ledger.withLock { $0.give(thing, for: parties) }
    }

    /// One more request is to be answered; asked before anything is done for it. `leaveRequest` gives it back.
    /// - Throws: `.unavailable`.
    package func enterRequest() throws(RequestError) {
        guard requests.wrappingAdd(1, ordering: .relaxed).newValue <= requestsMax else {
            leaveRequest()
            refused.increment()
            throw RequestError(.unavailable, "the node has its maximum of requests in flight")
        }
    }

    package func leaveRequest() { requests.wrappingSubtract(1, ordering: .relaxed) }

    /// The same for a request whose parties are known. `giveRequest` gives it back.
    /// - Throws: `.unavailable`, `.limitExceeded`.
    package func takeRequest(for parties: [Party]) throws(RequestError) {
        try enterRequest()
        do throws(RequestError) {
            try take(.request, for: parties)
        } catch {
            leaveRequest()
            throw error
        }
    }

    package func giveRequest(for parties: [Party]) {
        give(.request, for: parties)
        leaveRequest()
    }

    package func count(_ thing: PartyThing, of party: Party) -> Int { ledger.withLock { $0.count(thing, of: party) } }

    /// A session of one of `address`'s connections, until its seat is left.
    /// - Throws: `.limitExceeded`.
    package func seat(of address: Party?) throws(RequestError) -> SessionSeat {
        let parties = address.map { [$0] } ?? []
        try take(.session, for: parties)
        return SessionSeat(of: parties, in: self)
    }

    /// A stream or a long-poll: one session and one subscription.
    /// - Throws: `.limitExceeded`.
    package func takeStream(for parties: [Party]) throws(RequestError) {
        try ledger.withLock { ledger throws(RequestError) in
            try ledger.take(.session, for: parties)
            do throws(RequestError) {
                try ledger.take(.subscription, for: parties)
            } catch {
                ledger.give(.session, for: parties)
                throw error
            }
        }
    }

    package func giveStream(for parties: [Party]) {
        ledger.withLock { ledger in
            ledger.give(.session, for: parties)
            ledger.give(.subscription, for: parties)
        }
    }
}

/// A session counted of its address: given back once, by `leave` or when nobody holds it any more, as when a connection
/// breaks between its acceptance and its session.
package final class SessionSeat: Sendable {
    private let holders: [Party]
    private let parties: Parties
    private let isLeft = Atomic(false)

    init(of holders: [Party], in parties: Parties) {
        self.holders = holders
        self.parties = parties
    }

    deinit { leave() }

    package func leave() {
        guard !isLeft.exchange(true, ordering: .relaxed) else { return }
        parties.give(.session, for: holders)
    }
}

extension Identity {
    /// Nobody shares a limit with others who are signed out.
    package var parties: [Party] { auth.map { [.user($0.uid)] } ?? [] }
}
