/// A set of live-query slots. Most sets in the index hold one slot, which is stored inline.
enum SlotSet: Sendable {
    case one(Int32)
    case many(Set<Int32>)

    mutating func insert(_ slot: Int32) {
        switch self {
        case .one(let present):
            if present != slot { self = .many([present, slot]) }
        case .many(var slots):
            self = .one(slot)  // gives up the reference, so that the insert below is in place
            slots.insert(slot)
            self = .many(slots)
        }
    }

    /// - Returns: whether the set is now empty and must be removed.
    mutating func remove(_ slot: Int32) -> Bool {
        switch self {
        case .one(let present):
            return present == slot
        case .many(var slots):
            self = .one(slot)
            slots.remove(slot)
            if slots.count == 1, let last = slots.first {
                self = .one(last)
            } else {
                self = .many(slots)
            }
            return slots.isEmpty
        }
    }

    func forEach(_ body: (Int32) -> Void) {
        switch self {
        case .one(let slot): body(slot)
        case .many(let slots): slots.forEach(body)
        }
    }
}

extension Dictionary where Value == SlotSet {
    mutating func insert(_ slot: Int32, under key: Key) {
        if self[key]?.insert(slot) == nil { self[key] = .one(slot) }
    }

    mutating func remove(_ slot: Int32, under key: Key) {
        if self[key]?.remove(slot) == true { self[key] = nil }
    }
}
