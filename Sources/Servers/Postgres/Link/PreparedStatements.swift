/// What one connection has prepared on its server, by SQL text; bounded, the least recently used goes first.
///
/// A statement is used by name once the server has confirmed it, or within the group that prepares it: should that
/// group be aborted, its uses are aborted with it. A later group that is sent before the confirmation must not rely on
/// it, and runs the statement unprepared once. So no group can ever fail because of another's preparation.
struct PreparedStatements {
    enum Use: Equatable {
        case named(String)
        case prepareFirst(String)
        case unprepared
    }

    private struct Entry {
        let name: String
        /// The group that prepares it, until confirmed.
        var preparingGroup: Int?
        var lastUse: Int
    }

    private let countMax: Int
    private var entries: [Statement: Entry] = [:]
    private var namesGiven = 0
    private var uses = 0
    /// Names no longer wanted, still known to the server.
    private(set) var discarded: [String] = []

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

    /// Preparing failed or was aborted: the server does not know the name.
    mutating func forget(_ statement: Statement, name: String) {
        if entries[statement]?.name == name { entries[statement] = nil }
    }

    /// The server knows the name, but it is of no use any more.
    mutating func discard(_ statement: Statement) {
        guard let entry = entries[statement], entry.preparingGroup == nil else { return }
        entries[statement] = nil
        discarded.append(entry.name)
    }

    mutating func takeDiscarded() -> [String] {
        defer { discarded = [] }
        return discarded
    }

    /// A new connection knows nothing.
    mutating func removeAll() {
        entries = [:]
        discarded = []
    }

    /// Looks at every entry, which only happens on the way to preparing another statement.
    private mutating func evictOne() -> Bool {
        // Names not yet deallocated count too, or a long session could pile them up on the server.
        guard discarded.count < countMax else { return false }
        let oldest = entries.filter { $0.value.preparingGroup == nil }.min { $0.value.lastUse < $1.value.lastUse }
        guard let oldest else { return false }
        discard(oldest.key)
        return true
    }
}
