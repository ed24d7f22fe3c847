import DequeModule
import LiveModel

/// The last events of a shard's stream, oldest first, without a gap. Bounded by count and bytes.
struct EventTail: Sendable {
    private var entries: Deque<EventEntry> = []
    private var byteCount = 0
    /// The lowest position that these events can decide.
    private(set) var floor: StreamID

    init(floor: StreamID) { self.floor = floor }

    var count: Int { entries.count }

    mutating func append(_ entry: EventEntry, countMax: Int, bytesMax: Int) {
        entries.append(entry)
        byteCount += entry.byteCount
        while entries.count > countMax || byteCount > bytesMax, let first = entries.popFirst() {
            byteCount -= first.byteCount
            floor = max(floor, first.id)
        }
    }

    /// The newest entries, the newest first.
    func newest(_ count: Int) -> [EventEntry] { entries.suffix(count).reversed() }

    /// Whether an event after `id` concerns a live query with these rules.
    func concerns(_ rules: QueryRules, after id: StreamID) -> Bool {
        entries.contains { entry in
            entry.id > id && entry.event.map { RuleIndex.concerns($0, rules: rules) } ?? true
        }
    }
}
