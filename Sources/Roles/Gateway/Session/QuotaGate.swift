package import Execution
package import LiveModel
import Metrics
package import Sessions
import Synchronization

/// What users and addresses have on this node, and how many requests are being answered by it: for sessions of all
/// event loops and requests of all tasks.
package final class QuotaGate: Sendable {
    /// See `QuotaLimits.countsAddresses`.
    package let countsAddresses: Bool
    private let limits: QuotaLimits
    private let ledger: Mutex<QuotaLedger>
    private let requestsMax: Int
    private let requests = Atomic<Int>(0)
    private let refused = Counter(label: "freshet_requests_refused_total")

    /// - Parameter requestsMax: requests being answered at a time, of whoever; more are refused.
    package init(_ limits: QuotaLimits = QuotaLimits(), requestsMax: Int = .max) {
        self.limits = limits
        self.requestsMax = requestsMax
        countsAddresses = limits.countsAddresses
        ledger = Mutex(QuotaLedger(limits))
    }

    /// - Throws: `.limitExceeded`.
    package func take(_ thing: QuotaResource, for parties: [QuotaSubject]) throws(RequestError) {
        guard limits.counts(thing), !parties.isEmpty else { return }
        try ledger.withLock { ledger throws(RequestError) in try ledger.acquire(thing, for: parties) }
    }

    package func give(_ thing: QuotaResource, for parties: [QuotaSubject]) {
        guard limits.counts(thing), !parties.isEmpty else { return }
        ledger.withLock { $0.release(thing, for: parties) }
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
    package func takeRequest(for parties: [QuotaSubject]) throws(RequestError) {
        try enterRequest()
        do throws(RequestError) {
            try take(.request, for: parties)
        } catch {
            leaveRequest()
            throw error
        }
    }

    package func giveRequest(for parties: [QuotaSubject]) {
        give(.request, for: parties)
        leaveRequest()
    }

    package func count(_ thing: QuotaResource, of party: QuotaSubject) -> Int {
        ledger.withLock { $0.count(thing, of: party) }
    }

    /// A session of one of `address`'s connections, until its seat is left.
    /// - Throws: `.limitExceeded`.
    package func seat(of address: QuotaSubject?) throws(RequestError) -> SessionPermit {
        let parties = address.map { [$0] } ?? []
        try take(.session, for: parties)
        return SessionPermit(of: parties, in: self)
    }

    /// A stream or a long-poll: one session and one subscription.
    /// - Throws: `.limitExceeded`.
    package func takeStream(for parties: [QuotaSubject]) throws(RequestError) {
        try ledger.withLock { ledger throws(RequestError) in
            try ledger.acquire(.session, for: parties)
            do throws(RequestError) {
                try ledger.acquire(.subscription, for: parties)
            } catch {
                ledger.release(.session, for: parties)
                throw error
            }
        }
    }

    package func giveStream(for parties: [QuotaSubject]) {
        ledger.withLock { ledger in
            ledger.release(.session, for: parties)
            ledger.release(.subscription, for: parties)
        }
    }
}

/// A session counted of its address: given back once, by `leave` or when nobody holds it any more, as when a connection
/// breaks between its acceptance and its session.
package final class SessionPermit: Sendable {
    private let holders: [QuotaSubject]
    private let parties: QuotaGate
    private let isLeft = Atomic(false)

    init(of holders: [QuotaSubject], in parties: QuotaGate) {
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
    package var parties: [QuotaSubject] { auth.map { [.user($0.uid)] } ?? [] }
}
