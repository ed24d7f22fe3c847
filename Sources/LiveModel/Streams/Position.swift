/// Which run of a live query gave a result, and up to where that result is known to be fresh.
///
/// `id`: every event of the shard's stream with an id not above it had committed before the query ran.
/// `run` counts the shard's runs under one epoch, so two results of the same freshness still have an order. Positions of
/// one live query compare by (epoch, run): this order fences old owners and keeps a session from going backwards.
package struct Position: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// Epoch of the shard's lease under which the query ran.
    package let epoch: UInt64
    /// From 1 within the epoch.
    package let run: UInt64
    package let id: StreamID

    package init(epoch: UInt64, run: UInt64, id: StreamID) {
        self.epoch = epoch
        self.run = run
        self.id = id
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.epoch, left.run) < (right.epoch, right.run)
    }

    /// `epoch.run.ms-sequence`
    package var description: String { "\(epoch).\(run).\(id)" }

    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let epoch = UInt64(parts[0]), let run = UInt64(parts[1]),
            let id = StreamID(String(parts[2]))
        else { return nil }
        self.init(epoch: epoch, run: run, id: id)
    }
}
