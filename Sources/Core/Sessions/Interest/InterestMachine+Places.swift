import LiveModel

/// Live queries that move to another place.
extension InterestMachine {
    /// Operators changed where live queries belong: those that moved are announced at their new place, then withdrawn
    /// at the old one. What the old one still sends is dropped from here on.
    package mutating func placesChanged(nowMs: Int64) -> [Action] {
        var actions: [Action] = []
        for key in entries.keys(where: { placeOf($0.query) != $0.place }) {
            guard let entry = entries[key] else { continue }
            let place = placeOf(entry.query)
            count(entry, -1)
            entries[key]?.place = place
            entries[key]?.firstAsk = lastAsk + 1
            entries[key]?.freshAsk = lastAsk + 1
            entries[key]?.retries = 0
            if let moved = entries[key] { count(moved, 1) }
            actions += announce(key, nowMs: nowMs)
            if place.shard != entry.place.shard {
                actions.append(.tell(entry.place.shard, .withdraw(gateway: gateway, key: key)))
            }
            movedCount += 1
        }
        return actions
    }
}
