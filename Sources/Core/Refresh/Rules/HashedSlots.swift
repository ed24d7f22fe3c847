/// Live-query slots by hash, several for one hash. An open hash table, because there is an entry for each row that a
/// live query shows.
struct HashedSlots: Sendable {
    private struct Entry {
        var hash: UInt32
        /// Negative if the place is free.
        var slot: Int32
    }

    private var entries: [Entry] = []
    private(set) var count = 0

    /// The place of the hash among all hashes: an array that grows keeps their order.
    func home(_ hash: UInt32) -> Int { Int((UInt64(hash) &* UInt64(entries.count)) >> 32) }
    private func next(_ place: Int) -> Int { place + 1 == entries.count ? 0 : place + 1 }

    /// - Parameter slot: must not be in under the same hash.
    mutating func insert(_ slot: Int32, _ hash: UInt32) {
        if (count + 1) * 4 > entries.count * 3 { grow() }
        place(Entry(hash: hash, slot: slot))
        count += 1
    }

    private mutating func place(_ entry: Entry) {
        var index = home(entry.hash)
        while entries[index].slot >= 0 { index = next(index) }
        entries[index] = entry
    }

    private mutating func grow() {
        let former = entries
        // By a quarter: three of five places are taken at least.
        let size = max(8, former.count + former.count / 4)
        entries = []
        entries.reserveCapacity(size)
        entries.append(contentsOf: repeatElement(Entry(hash: 0, slot: -1), count: size))
        for entry in former where entry.slot >= 0 { place(entry) }
    }

    mutating func remove(_ slot: Int32, _ hash: UInt32) {
        if entries.isEmpty { return }
        var free = home(hash)
        while entries[free].slot != slot || entries[free].hash != hash {
            if entries[free].slot < 0 { return }
            free = next(free)
        }
        // Entries after it move up, unless that would take them before their home.
        var index = free
        while true {
            index = next(index)
            if entries[index].slot < 0 { break }
            let home = home(entries[index].hash)
            let isBetween = free <= index ? free < home && home <= index : free < home || home <= index
            if isBetween { continue }
            entries[free] = entries[index]
            free = index
        }
        entries[free].slot = -1
        count -= 1
        if count == 0 { entries = [] }
    }

    func forEach(_ hash: UInt32, _ body: (Int32) -> Void) {
        if entries.isEmpty { return }
        var index = home(hash)
        while entries[index].slot >= 0 {
            if entries[index].hash == hash { body(entries[index].slot) }
            index = next(index)
        }
    }
}
