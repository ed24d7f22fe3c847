package import NIOCore
import Pacing
import Synchronization

/// The rates at which addresses send, each over all of its connections, so that a client that reconnects gets no fresh
/// burst.
///
/// Each event loop takes tokens of an address in advance, so hardly any message takes the lock.
package final class AddressRates: Sendable {
    /// The addresses with connections on one event loop; used only there. Bounded by the connections.
    fileprivate final class LoopRates: @unchecked Sendable {
        // Unchecked: it belongs to its event loop.
        var rates: [String: AddressRate] = [:]
    }

    private let buckets: Mutex<KeyedBuckets<String>>
    private let perSecond: Int
    private let isCounted: @Sendable (String) -> Bool
    private let subjectOfPeer: @Sendable (String) -> String?
    private let loops = Mutex<[ObjectIdentifier: LoopRates]>([:])
    /// Tokens that an event loop takes at a time.
    fileprivate static let portion = 32

    /// - Parameters:
    ///   - perSecond: messages of one address; 0: no limit.
    ///   - burst: those that it may send at once.
    ///   - isCounted: false for addresses that stand for many clients.
    ///   - subjects: the subjects of peers; nil: each address is its own.
    package init(
        perSecond: Int, burst: Int, isCounted: @escaping @Sendable (String) -> Bool,
        subjects: AddressSubjects? = nil
    ) {
        if let subjects { subjectOfPeer = subjects.peer } else { subjectOfPeer = { $0 } }
        buckets = Mutex(KeyedBuckets(perSecond: perSecond, burst: burst))
        self.perSecond = perSecond
        self.isCounted = isCounted
    }

    /// Returns the rate of a peer for one more connection on this event loop, like `rate(of:on:)`; nil also if the peer
    /// has no subject.
    package func rate(ofPeer address: String, on eventLoop: any EventLoop) -> AddressRate? {
        subjectOfPeer(address).flatMap { rate(of: $0, on: eventLoop) }
    }

    /// Returns the rate of an address for one more connection or call on this event loop, which ends by `leave`; nil
    /// if there is no limit. Call on the event loop.
    package func rate(of address: String, on eventLoop: any EventLoop) -> AddressRate? {
        eventLoop.assertInEventLoop()
        guard perSecond > 0, isCounted(address) else { return nil }
        let loop = loops.withLock { loops in
            let id = ObjectIdentifier(eventLoop)
            if let known = loops[id] { return known }
            let new = LoopRates()
            loops[id] = new
            return new
        }
        let rate = loop.rates[address] ?? AddressRate(address, self, loop)
        rate.users += 1
        loop.rates[address] = rate
        return rate
    }

    /// Counts a peer's new connection as a message.
    /// - Returns: 0 if it may be read, else the time after which to ask again.
    func begin(_ address: String, nowMs: Int64) -> Int64 {
        guard perSecond > 0, let subject = subjectOfPeer(address), isCounted(subject) else { return 0 }
        return buckets.withLock { $0.begin(subject, nowMs: nowMs) }
    }

    func begin(_ address: String, on eventLoop: any EventLoop) -> Int64 { begin(address, nowMs: eventLoop.ratesMs) }

    fileprivate func change<Result: Sendable>(_ body: (inout KeyedBuckets<String>) -> Result) -> Result {
        buckets.withLock { body(&$0) }
    }
}

/// The rate of one address as the connections and calls of one event loop use it. Belongs to that event loop.
package final class AddressRate {
    private let address: String
    private let node: AddressRates
    private let loop: AddressRates.LoopRates
    fileprivate var users = 0
    /// Tokens that were taken and not used.
    private var prepaid = 0

    fileprivate init(_ address: String, _ node: AddressRates, _ loop: AddressRates.LoopRates) {
        self.address = address
        self.node = node
        self.loop = loop
    }

    /// Counts a message.
    /// - Returns: 0 if the rate permits it, else the time until it is paid.
    func arrived(nowMs: Int64) -> Int64 {
        if prepaid > 0 {
            prepaid -= 1
            return 0
        }
        let (address, portion) = (address, AddressRates.portion)
        let (taken, waitMs) = node.change { buckets in
            let taken = buckets.take(upTo: portion, of: address, nowMs: nowMs)
            return (taken, taken > 0 ? 0 : buckets.owe(address, nowMs: nowMs))
        }
        prepaid = max(0, taken - 1)
        return waitMs
    }

    /// Takes the token of the next message.
    /// - Returns: 0 if there was one, else the time after which to ask again.
    func begin(nowMs: Int64) -> Int64 {
        if prepaid > 0 {
            prepaid -= 1
            return 0
        }
        let address = address
        return node.change { $0.begin(address, nowMs: nowMs) }
    }

    /// Ends the use of one connection or call.
    func leave() {
        users -= 1
        precondition(users >= 0, "\(address) is left more often than it was used")
        guard users == 0 else { return }
        loop.rates[address] = nil
        let (address, unused) = (address, prepaid)
        prepaid = 0
        if unused > 0 { node.change { $0.putBack(unused, to: address) } }
    }
}

@available(*, unavailable)
extension AddressRate: Sendable {}
