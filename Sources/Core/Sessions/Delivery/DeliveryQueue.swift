package import LiveModel

/// The results that one session has yet to write: at most one per subscription; the newest wins. With it, the sessions
/// of the gateway and of the simulator decide about every update (`DeliveryDecision`).
///
/// While the socket keeps up, nothing is stored here. For a session that does not read, pending results are held by
/// reference to the shared bytes; it is to be closed once they and its unwritten bytes exceed `bytesMax`.
package struct DeliveryQueue<Pending> {
    package enum Offer: Sendable, Hashable {
        /// Write it now.
        case write
        /// Kept; an earlier pending result of this subscription is dropped.
        case hold
        /// The session is too slow: close it with a resumable code.
        case close
    }

    package let bytesMax: Int
    private var pending: [String: (item: Pending, bytes: Int)] = [:]
    private var order: [String] = []
    package private(set) var pendingBytes = 0

    package init(bytesMax: Int) {
        self.bytesMax = bytesMax
    }

    package var isEmpty: Bool { pending.isEmpty }
    package var count: Int { pending.count }
    /// The subscriptions with a pending result.
    package var ids: Set<String> { Set(order) }

    /// - Parameters:
    ///   - bytes: the size of `item`.
    ///   - unwrittenBytes: bytes accepted by the socket's owner but not yet by the kernel.
    package mutating func offer(_ item: Pending, id: String, bytes: Int, unwrittenBytes: Int) -> Offer {
        if unwrittenBytes == 0, pending.isEmpty { return .write }
        let replaced = pending[id]?.bytes ?? 0
        if unwrittenBytes + pendingBytes - replaced + bytes > bytesMax { return .close }
        if pending.updateValue((item, bytes), forKey: id) == nil { order.append(id) }
        pendingBytes += bytes - replaced
        return .hold
    }

    /// A refresh failed, and the error is written now: a pending result of the subscription is older and is dropped.
    package mutating func failed(id: String) { drop(id) }

    /// The subscription ended: its pending result is dropped.
    package mutating func ended(id: String) { drop(id) }

    /// The session ended: nothing is written any more.
    package mutating func removeAll() { self = DeliveryQueue(bytesMax: bytesMax) }

    private mutating func drop(_ id: String) {
        guard let dropped = pending.removeValue(forKey: id) else { return }
        pendingBytes -= dropped.bytes
        order.removeAll { $0 == id }
    }

    /// Some of the unwritten bytes were written. Returns what to write next, from the subscription that has waited
    /// longest; nil: nothing, or the socket does not keep up.
    package mutating func next(unwrittenBytes: Int) -> (id: String, item: Pending)? {
        guard unwrittenBytes == 0, !order.isEmpty else { return nil }
        let id = order.removeFirst()
        guard let taken = pending.removeValue(forKey: id) else { return nil }
        pendingBytes -= taken.bytes
        return (id, taken.item)
    }
}
