/// The run of a live query that produced a result, and the event up to which that result is known to be fresh.
///
/// Runs of one live query never overlap, and an owner uses nothing that it read after its lease ended, so (epoch, run)
/// orders results as they were read. A result that a new owner confirms keeps its rank, because it was read under the
/// former owner, whose newer results must stay newer. Only `id` advances.
///
/// `id`: every event of the shard's stream up to this id had committed before the query ran. `run` counts the shard's
/// runs under one epoch, so two results of the same freshness still have an order. Positions of one live query compare
/// by (epoch, run): this order fences former owners and keeps a session from going backwards.
///
/// Each shard counts separately. Therefore a live query's positions from different placements are not comparable, and
/// an id is meaningless in another shard's stream: check `isOrdered` before comparing if placements may differ.
package struct Position: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The `ShardRoute.version` under which the gateway that received the result was registered; 0 at the owner.
    package var placement: UInt64
    /// The epoch of the shard's lease under which the query ran.
    package let epoch: UInt64
    /// The number of the run within the epoch, from 1.
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

    /// Returns the same position at another placement.
    package func at(placement: UInt64) -> Self { Self(epoch: epoch, run: run, id: id, placement: placement) }

    /// Returns the position of the same result, known to be fresh at least up to `id`; its rank stays.
    package func through(_ id: StreamID) -> Self {
        Self(epoch: epoch, run: run, id: max(self.id, id), placement: placement)
    }

    /// No owner makes so many runs under one epoch; a greater number was never assigned.
    package static let runMax: UInt64 = 1 << 48

    /// The text `epoch.run.ms-sequence`, followed by `.placement` unless that is 0.
    package var description: String { "\(epoch).\(run).\(id)" + (placement == 0 ? "" : ".\(placement)") }

    package init?(_ text: some StringProtocol) {
        var text = String(text)
        guard let position = text.withUTF8({ Position(utf8: UnsafeRawBufferPointer($0)) }) else { return nil }
        self = position
    }

    /// Reads the text from UTF-8 bytes without creating strings: every poll brings one.
    package init?(utf8 bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        func next() -> Slice<UnsafeRawBufferPointer>? {
            guard let dot = rest.firstIndex(of: UInt8(ascii: ".")) else { return nil }
            defer { rest = rest[(dot + 1)...] }
            return rest[..<dot]
        }
        guard let epoch = next().flatMap(UInt64.init(digits:)), let run = next().flatMap(UInt64.init(digits:)),
            run <= Self.runMax
        else {
            return nil
        }
        let idText = next()
        let idBytes = UnsafeRawBufferPointer(rebasing: idText ?? rest)
        guard let id = StreamID(utf8: idBytes) else { return nil }
        var placement: UInt64 = 0
        if idText != nil {
            guard let number = UInt64(digits: rest), number > 0 else { return nil }
            placement = number
        }
        self.init(epoch: epoch, run: run, id: id, placement: placement)
    }
}
