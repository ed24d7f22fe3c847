/// The run of a live query that gave a result, and up to where that result is known to be fresh.
///
/// Runs of one live query never overlap, and an owner uses nothing that it read after its lease ended, so (epoch, run)
/// orders results as they were read. A result that a new owner finds still fresh keeps its rank: it was read before the
/// owner came, and a newer one of the former owner must stay newer. Only `id` moves on.
///
/// `id`: every event of the shard's stream with an id up to it had committed before the query ran.
/// `run` counts the shard's runs under one epoch, so two results of the same freshness still have an order. Positions
/// of one live query compare by (epoch, run): this order fences former owners and keeps a session from going backwards.
///
/// Each shard counts on its own. So positions that one live query has from different placements have no order, and an
/// id means nothing in another shard's stream: check `isOrdered` before comparing if placements may differ.
package struct Position: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The `ShardRoute.version` under which the gateway that received the result was registered; 0 at the owner.
    package var placement: UInt64
    /// Epoch of the shard's lease under which the query ran.
    package let epoch: UInt64
    /// From 1 within the epoch.
    package let run: UInt64
    package let id: StreamID

    package init(epoch: UInt64, run: UInt64, id: StreamID, placement: UInt64 = 0) {
        self.placement = placement
        self.epoch = epoch
        self.run = run
        self.id = id
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.placement, left.epoch, left.run) < (right.placement, right.epoch, right.run)
    }

    /// Whether a comparison with `other`, a position of the same live query, is meaningful.
    package func isOrdered(with other: Self) -> Bool { placement == other.placement }

    /// The same at another placement.
    package func at(placement: UInt64) -> Self { Self(epoch: epoch, run: run, id: id, placement: placement) }

    /// The same result, known to be fresh up to `id` at least; its rank stays.
    package func through(_ id: StreamID) -> Self {
        Self(epoch: epoch, run: run, id: max(self.id, id), placement: placement)
    }

    /// `epoch.run.ms-sequence`, and `.placement` unless that is 0.
    package var description: String { "\(epoch).\(run).\(id)" + (placement == 0 ? "" : ".\(placement)") }

    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (3...4).contains(parts.count), let epoch = UInt64(parts[0]), let run = UInt64(parts[1]),
            let id = StreamID(String(parts[2]))
        else { return nil }
        var placement: UInt64 = 0
        if parts.count == 4 {
            guard let number = UInt64(parts[3]), number > 0 else { return nil }
            placement = number
        }
        self.init(epoch: epoch, run: run, id: id, placement: placement)
    }
}
