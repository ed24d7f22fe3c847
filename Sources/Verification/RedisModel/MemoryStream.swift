package import LiveModel
package import Streams

/// A stream of the in-memory broker, with the counters that a Redis stream keeps.
package struct MemoryStream: Sendable {
    /// Entries before `head` are removed; the storage is compacted when they make up half of it.
    private var storage: [StreamEntry] = []
    private var head = 0
    private var lastID = StreamID.zero
    private var added: UInt64 = 0
    /// Nil: the stream does not expire.
    package var expiresAtMs: UInt64?
    /// The last id delivered to each consumer group.
    package var groups: [String: StreamID] = [:]

    package init() {}

    package var entries: ArraySlice<StreamEntry> { storage[head...] }

    package var info: StreamInfo {
        StreamInfo(length: entries.count, firstID: entries.first?.id, lastID: lastID, entriesAdded: added)
    }

    package mutating func append(_ fields: [(name: String, value: [UInt8])], lengthMax: Int, nowMs: UInt64) -> StreamID
    {
        let id =
            nowMs > lastID.ms
            ? StreamID(ms: nowMs, sequence: 0) : (lastID.successor ?? .max)
        storage.append(StreamEntry(id: id, fields: fields))
        lastID = id
        added += 1
        removeFirst(entries.count - lengthMax)
        return id
    }

    /// Removes entries with ids below `minimumID` and returns their number.
    package mutating func trim(minimumID: StreamID) -> Int {
        let count = index(from: minimumID) - head
        removeFirst(count)
        return count
    }

    /// Returns entries with an id greater than `after`, up to and including `through`.
    package func range(after: StreamID, through: StreamID, limit: Int) -> [StreamEntry] {
        guard limit > 0, let from = after.successor else { return [] }
        return Array(storage[index(from: from)...].prefix(limit).prefix { $0.id <= through })
    }

    /// Returns the last entries with an id less than `before`, newest first.
    package func newest(before: StreamID, limit: Int) -> [StreamEntry] {
        storage[head..<index(from: before)].suffix(max(0, limit)).reversed()
    }

    package func contains(_ id: StreamID) -> Bool {
        let index = index(from: id)
        return index < storage.count && storage[index].id == id
    }

    private mutating func removeFirst(_ count: Int) {
        guard count > 0 else { return }
        head += count
        if head * 2 >= storage.count {
            storage.removeFirst(head)
            head = 0
        }
    }

    /// Returns the index of the first entry with at least this id.
    private func index(from id: StreamID) -> Int {
        var low = head
        var high = storage.count
        while low < high {
            let middle = (low + high) / 2
            if storage[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
