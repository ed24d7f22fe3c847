package import LiveModel

/// Decides whether entries after a reader's cursor were lost.
///
/// Streams lose entries in three ways: trimming removes the oldest (by length or age, `entriesAdded - length` counts
/// them); deletion removes single ones (`maxDeletedID`; Redis does not move it on trimming); or the whole stream is
/// replaced, by a server that lost its data or by `DEL`. New ids come from the clock, so a replaced stream soon has
/// greater ids than the cursor and looks like progress. The cursor's own entry tells: trimming goes from the front, so
/// while that entry exists, everything after it does. When it does not, `rank` (how many entries had been added up to
/// the cursor) says whether exactly the entries up to the cursor are gone, more, or impossibly few. Without a rank
/// the answer is doubt, which costs a refresh but never a stale result.
package struct GapCheck: Sendable {
    /// The reader has everything up to here.
    package private(set) var cursor: StreamID
    /// Entries added to the stream up to and including the cursor, when known.
    package var rank: UInt64?
    /// Single deletions up to here have been told.
    private var toldDeleted = StreamID.zero

    package init(cursor: StreamID) {
        self.cursor = cursor
        rank = cursor == .zero ? 0 : nil
    }

    /// The cursor moves over entries that were handed out.
    package mutating func advance(to id: StreamID, by count: Int) {
        cursor = id
        rank = rank.map { $0 + UInt64(count) }
    }

    /// Compares with the stream as it is now (`info` nil: it does not exist; `cursorExists`: an entry with the
    /// cursor's id does) and moves on so that the same loss is told once.
    package mutating func check(_ info: StreamInfo?, cursorExists: Bool) -> StreamSignal? {
        guard let info else {
            guard cursor != .zero else { return nil }
            self = GapCheck(cursor: .zero)
            return .regressed(lastID: .zero)
        }
        let removed = info.entriesAdded - min(info.entriesAdded, UInt64(info.length))
        if info.lastID < cursor { return regress(info, removed) }
        if info.maxDeletedID > toldDeleted, info.maxDeletedID > cursor || info.maxDeletedID == cursor && !cursorExists {
            toldDeleted = info.maxDeletedID
            rank = cursorExists ? nil : removed
            return .trimmed(firstID: info.firstID)
        }
        if cursorExists { return nil }
        if cursor == info.lastID {  // its entry is gone, and there is none after it
            rank = info.entriesAdded
            return nil
        }
        if let rank, removed == rank { return nil }
        if removed < rank ?? 1 { return regress(info, removed) }
        rank = removed  // as if the cursor stood right before the oldest entry left
        return .trimmed(firstID: info.firstID)
    }

    private mutating func regress(_ info: StreamInfo, _ removed: UInt64) -> StreamSignal {
        cursor = .zero
        rank = removed
        toldDeleted = info.maxDeletedID
        return .regressed(lastID: info.lastID)
    }
}
