import Clocks
package import Execution
package import LiveModel
import Metrics
import Pacing
package import Sessions
import Synchronization

/// The quotas of users and addresses on this node and the limit on requests in flight, for all event loops and tasks.
package final class QuotaGate: Sendable {
    private let ledger: Mutex<QuotaLedger>
    /// The sessions that addresses began recently.
    private let starts: Mutex<KeyedBuckets<String>>
    private let limitsStarts: Bool
    private let uncounted: AddressSet
    private let requestsMax: Int
    private let requests = Atomic<Int>(0)
    private let metrics = RequestMetrics()

    /// - Parameter requestsMax: the limit on requests in flight on this node; further ones are refused.
    package init(_ limits: QuotaLimits = QuotaLimits(), requestsMax: Int = .max) {
        self.requestsMax = requestsMax
        uncounted = limits.uncounted
        ledger = Mutex(QuotaLedger(limits))
        let rate = limits.startsPerAddress
        limitsStarts = rate.perSecond > 0
        starts = Mutex(
            KeyedBuckets(perSecond: rate.perSecond, burst: rate.burst, spreadMs: QuotaLedger.retrySpreadMs))
    }

    /// Counts the beginning of a session for its address.
    /// - Returns: nil if the address may begin one, else the time after which to retry.
    package func beginSession(from address: QuotaSubject?, nowMs: Int64 = MonotonicClock.nowMs()) -> Int64? {
        guard limitsStarts, let address, !uncounted.contains(address.name) else { return nil }
        let waitMs = starts.withLock { $0.begin(address.name, nowMs: nowMs) }
        return waitMs > 0 ? waitMs : nil
    }

    /// Acquires the resources for all of the subjects, or for none.
    /// - Throws: `.limitExceeded`.
    package func acquire(_ use: QuotaUse, for subjects: [QuotaSubject]) throws(RequestError) {
        if subjects.isEmpty { return }
        let nowMs = MonotonicClock.nowMs()
        try ledger.withLock { ledger throws(RequestError) in
            try ledger.acquire(use, for: subjects, nowMs: nowMs)
        }
    }

    /// - Parameters:
    ///   - lingers: whether the use's live query is to linger after its last subscription.
    ///   - isAnswered: whether its client got a response and will probably ask again.
    /// - Returns: whether it may.
    @discardableResult
    package func release(
        _ use: QuotaUse, for subjects: [QuotaSubject], lingers: Bool = false, isAnswered: Bool = false
    ) -> Bool {
        if subjects.isEmpty { return lingers }
        let nowMs = lingers ? MonotonicClock.nowMs() : nil
        return ledger.withLock { $0.release(use, for: subjects, lingersFrom: nowMs, isAnswered: isAnswered) }
    }

    package func liveQueryCount(of subject: QuotaSubject) -> Int {
        ledger.withLock { $0.liveQueryCount(of: subject) }
    }

    /// Counts a request in flight, before any work is done for it. `endRequest` ends it.
    /// - Throws: `.unavailable` if there are too many.
    package func beginRequest() throws(RequestError) {
        guard requests.wrappingAdd(1, ordering: .relaxed).newValue <= requestsMax else {
            endRequest()
            metrics.refused.increment()
            throw RequestError(.unavailable, "too many requests in flight on this node")
        }
    }

    package func endRequest() { requests.wrappingSubtract(1, ordering: .relaxed) }

    /// Counts a request in flight and against its subjects' quotas. `releaseRequest` ends it.
    /// - Throws: `.unavailable` or `.limitExceeded`.
    package func acquireRequest(for subjects: [QuotaSubject]) throws(RequestError) {
        try beginRequest()
        do throws(RequestError) {
            try acquire(.request, for: subjects)
        } catch {
            endRequest()
            throw error
        }
    }

    package func releaseRequest(for subjects: [QuotaSubject]) {
        release(.request, for: subjects)
        endRequest()
    }

    package func count(_ resource: QuotaResource, of subject: QuotaSubject) -> Int {
        ledger.withLock { $0.count(resource, of: subject) }
    }
}

extension QuotaGate {
    /// Returns who takes a turn for a slow live query: the user, else the address, unless it stands for many clients.
    package func client(of subjects: [QuotaSubject]) -> ClientID? {
        var client: ClientID?
        for subject in subjects {
            switch subject {
            case .user(let name): return ClientID(user: name)
            case .address(let name): client = uncounted.contains(name) ? nil : ClientID(address: name)
            }
        }
        return client
    }

    /// Returns the identity that is charged for slow statements by this address, too. An address that stands for many
    /// clients is charged only for signed-out ones.
    package func charge(_ identity: Identity, at address: QuotaSubject?) -> Identity {
        identity.at(address?.name, isShared: address.map { uncounted.contains($0.name) } ?? true)
    }
}

extension Identity {
    /// The subjects of the identity; none if it is signed out.
    package var subjects: [QuotaSubject] { auth.map { [.user($0.uid)] } ?? [] }

    /// Returns the subjects whose quotas a sender at this address counts against.
    /// - Parameter address: nil if addresses are unknown or not counted.
    package func subjects(at address: QuotaSubject?) -> [QuotaSubject] { (address.map { [$0] } ?? []) + subjects }
}
