package import LiveModel

/// Decides whether entries after a reader's cursor were lost.
///
/// Streams lose entries in three ways. Trimming removes the oldest, by length or age; `entriesAdded - length` counts
/// them. Deletion removes single entries and raises `maxDeletedID`, which trimming does not change. Data loss at the
/// server, or `DEL`, replaces the whole stream. New ids come from the clock, so a replaced stream soon has greater ids
/// than the cursor and looks like progress.
///
/// The cursor's own entry settles most cases: trimming starts at the front, so while that entry exists, everything
/// after it does. Once it is gone, `rank` (the number of entries added up to the cursor) shows whether exactly the
/// entries up to the cursor are gone, or more, or impossibly few. Without a rank the check signals a loss in doubtful
/// cases, which costs a refresh but never causes a stale result.
package struct GapCheck: Sendable {
    /// The id up to which the reader has everything.
    package private(set) var cursor: StreamID
    /// The number of entries added to the stream up to and including the cursor, if known.
    package var rank: UInt64?
    /// The id up to which deletions of single entries were signalled.
    private var signalledDeletedID = StreamID.zero

    package init(cursor: StreamID) {
        self.cursor = cursor
        rank = cursor == .zero ? 0 : nil
    }

    /// Moves the cursor over delivered entries.
    package mutating func advance(to id: StreamID, by count: Int) {
        cursor = id
        rank = rank.map { $0 + UInt64(count) }
    }

    /// Compares the cursor with the stream's current state and updates itself so that each loss is signalled once.
    /// - Parameters:
    ///   - info: nil if the stream does not exist.
    ///   - cursorExists: whether the stream has an entry with the cursor's id.
    package mutating func check(_ info: StreamInfo?, cursorExists: Bool) -> StreamSignal? {
        guard let info else {
            guard cursor != .zero else { return nil }
            self = GapCheck(cursor: .zero)
            return .regressed(lastID: .zero)
        }
        let removed = info.entriesAdded - min(info.entriesAdded, UInt64(info.length))
        if info.lastID < cursor { return regress(info, removed) }
        if info.maxDeletedID > signalledDeletedID,
            info.maxDeletedID > cursor || info.maxDeletedID == cursor && !cursorExists
        {
            signalledDeletedID = info.maxDeletedID
            rank = cursorExists ? nil : removed
            return .trimmed(firstID: info.firstID)
        }
        if cursorExists { return nil }
        if cursor == info.lastID {  // its entry is gone, and none follows it
            rank = info.entriesAdded
            return nil
        }
        if let rank, removed == rank { return nil }
        if removed < rank ?? 1 { return regress(info, removed) }
        rank = removed  // as if the cursor were right before the oldest remaining entry
        return .trimmed(firstID: info.firstID)
    }

    private mutating func regress(_ info: StreamInfo, _ removed: UInt64) -> StreamSignal {
        cursor = .zero
        rank = removed
        signalledDeletedID = info.maxDeletedID
        return .regressed(lastID: info.lastID)
    }
}
