package import LiveModel

/// What one session has yet to write: at most one pending result per subscription, the newest wins.
///
/// While the socket keeps up nothing is stored here. A session that does not read holds its pending results by
/// reference to the shared bytes, and is to be closed when they and its unwritten bytes pass `bytesMax`.
package struct DeliveryOutbox<Pending> {
    package enum Decision: Sendable, Hashable {
        /// Write it now.
        case write
        /// Kept; a former result of this subscription, if any, is dropped.
        case hold
        /// The session is too slow: close it with a resumable code.
        case close
    }

    package let bytesMax: Int
    private var pending: [String: (item: Pending, bytes: Int)] = [:]
    private var order: [String] = []
    private var pendingBytes = 0

    package init(bytesMax: Int) {
        self.bytesMax = bytesMax
    }

    package var isEmpty: Bool { pending.isEmpty }
    package var count: Int { pending.count }

    /// - Parameters:
    ///   - bytes: size of `item`.
    ///   - unwrittenBytes: accepted by the socket's owner and not yet taken by the kernel.
    package mutating func offer(_ item: Pending, id: String, bytes: Int, unwrittenBytes: Int) -> Decision {
        if unwrittenBytes == 0, pending.isEmpty { return .write }
        let replaced = pending[id]?.bytes ?? 0
        if unwrittenBytes + pendingBytes - replaced + bytes > bytesMax { return .close }
        if pending.updateValue((item, bytes), forKey: id) == nil { order.append(id) }
        pendingBytes += bytes - replaced
        return .hold
    }

    /// The subscription ended: its pending result goes.
    package mutating func discard(id: String) {
        guard let dropped = pending.removeValue(forKey: id) else { return }
        pendingBytes -= dropped.bytes
        order.removeAll { $0 == id }
    }

    /// The socket drained: what to write next, the subscription that waits longest first.
    package mutating func next() -> (id: String, item: Pending)? {
        guard !order.isEmpty else { return nil }
        let id = order.removeFirst()
        guard let taken = pending.removeValue(forKey: id) else { return nil }
        pendingBytes -= taken.bytes
        return (id, taken.item)
    }
}
