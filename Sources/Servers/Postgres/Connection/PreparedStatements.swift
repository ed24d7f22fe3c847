/// The prepared statements of one connection, by SQL text; bounded, the least recently used is evicted first. Pure.
///
/// A statement is used by name once the server has confirmed it, or within the group that prepares it: if that group is
/// aborted, its uses are aborted with it. A later group sent before the confirmation must not rely on it and executes
/// the statement unprepared. So no group can fail because of another group's preparation.
struct PreparedStatements {
    enum Use: Equatable {
        case named(String)
        case prepareFirst(String)
        case unprepared
    }

    private struct Entry {
        let name: String
        /// The group that prepares it; nil once confirmed.
        var preparingGroup: Int?
        var lastUse: Int
    }

    private let countMax: Int
    private var entries: [Statement: Entry] = [:]
    private var namesGiven = 0
    private var uses = 0
    /// Names to deallocate: no longer used, but still known to the server. At most `countMax`.
    private var discarded: [String] = []

    init(countMax: Int) {
        self.countMax = max(1, countMax)
    }

    var count: Int { entries.count }

    mutating func use(_ statement: Statement, group: Int) -> Use {
        uses += 1
        if let index = entries.index(forKey: statement) {
            entries.values[index].lastUse = uses
            let entry = entries.values[index]
            return entry.preparingGroup == nil || entry.preparingGroup == group ? .named(entry.name) : .unprepared
        }
        if entries.count >= countMax, !evictOne() { return .unprepared }
        namesGiven += 1
        let name = "s\(namesGiven)"
        entries[statement] = Entry(name: name, preparingGroup: group, lastUse: uses)
        return .prepareFirst(name)
    }

    mutating func confirm(_ statement: Statement, name: String) {
        guard let index = entries.index(forKey: statement), entries.values[index].name == name else { return }
        entries.values[index].preparingGroup = nil
    }

    /// Records that preparing failed or was aborted, so the server does not know the name.
    mutating func forget(_ statement: Statement, name: String) {
        if entries[statement]?.name == name { entries[statement] = nil }
    }

    /// Records that a statement known to the server is no longer usable or wanted.
    mutating func discard(_ statement: Statement) {
        guard let entry = entries[statement], entry.preparingGroup == nil else { return }
        entries[statement] = nil
        discarded.append(entry.name)
    }

    var hasDiscarded: Bool { !discarded.isEmpty }

    mutating func takeDiscarded() -> String? { discarded.isEmpty ? nil : discarded.removeFirst() }

    /// Forgets everything, for a new connection.
    mutating func removeAll() {
        entries = [:]
        discarded = []
    }

    /// Evicts a statement. Linear, but only called before preparing another one.
    private mutating func evictOne() -> Bool {
        // This also bounds the names not yet deallocated, which a long session would accumulate on the server.
        guard discarded.count < countMax else { return false }
        let oldest = entries.filter { $0.value.preparingGroup == nil }.min { $0.value.lastUse < $1.value.lastUse }
        guard let oldest else { return false }
        discard(oldest.key)
        return true
    }
}
