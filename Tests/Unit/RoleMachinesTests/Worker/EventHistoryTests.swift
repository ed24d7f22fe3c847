import JSON
import LiveModel
import Refresh
import RoleMachines
import SeededRandom
import Streams
import Testing

/// The tail of a stream, read page by page from its end.
@Suite struct EventHistoryTests {
    private static func id(_ number: Int) -> StreamID { StreamID(ms: UInt64(number), sequence: 0) }

    private static func event(_ number: Int, padding: Int = 0) -> [UInt8] {
        MutationEvent(
            id: "\(number)", operation: OperationReference(connector: "c", operation: "M"),
            variables: ["p": .string(String(repeating: "x", count: padding))], auth: .null, keysWritten: [],
            traceID: "", committedAtMs: 0
        ).encoded
    }

    /// A stream of the ids 1…`count`; those in `broken` cannot be read.
    private static func load(
        _ count: Int, first: Int = 1, broken: Set<Int> = [], padding: Int = 0, countMax: Int = 1_000,
        bytesMax: Int = .max
    ) -> (history: EventHistory, pages: Int) {
        let stream = (first...count).map { number in
            StreamEntry(
                id: id(number), fields: [(broken.contains(number) ? "x" : "e", event(number, padding: padding))])
        }
        var history = EventHistory(lastID: id(count), countMax: countMax, bytesMax: bytesMax)
        var pages = 0
        while let before = history.before {
            pages += 1
            history.add(Array(stream.filter { $0.id < before }.suffix(EventHistory.pageMax).reversed()))
        }
        return (history, pages)
    }

    private static func ids(_ history: EventHistory) -> [Int] { history.entries.map { Int($0.id.ms) } }

    @Test func aShortStreamIsReadWhole() {
        let (history, pages) = Self.load(10)
        #expect(Self.ids(history) == Array(1...10) && pages == 1)
        #expect(history.entries.map { $0.event?.id } == (1...10).map { "\($0)" })
    }

    @Test func noMoreIsReadThanIsRemembered() {
        let (history, pages) = Self.load(1_000, countMax: 130)
        #expect(Self.ids(history) == Array(871...1_000) && pages == 3)
        #expect(Self.load(1_000, countMax: EventHistory.pageMax).pages == 1)
    }

    @Test func bytesAreBounded() {
        let size = Self.event(100, padding: 1_000).count
        let (history, pages) = Self.load(500, padding: 1_000, bytesMax: 7 * size + 1)
        #expect(Self.ids(history) == Array(494...500) && pages == 1)
        #expect(Self.load(500, padding: 1_000, bytesMax: 10).history.entries.isEmpty)
    }

    @Test func anUnreadableEntryEndsTheTail() {
        #expect(Self.ids(Self.load(100, broken: [95, 20]).history) == Array(96...100))
        #expect(Self.load(100, broken: [100]).history.entries.isEmpty)
    }

    @Test func anEmptyStreamHasNoTail() {
        #expect(EventHistory(lastID: .zero, countMax: 10, bytesMax: .max).before == nil)
        // Trimmed to nothing, or gone since.
        var history = EventHistory(lastID: Self.id(9), countMax: 10, bytesMax: .max)
        history.add([])
        #expect(history.before == nil && history.entries.isEmpty && history.lastID == Self.id(9))
    }

    @Test func laterEntriesAreLeftToTheReader() {
        let history = EventHistory(lastID: Self.id(9), countMax: 10, bytesMax: .max)
        #expect(history.before == StreamID(ms: 9, sequence: 1))
    }

    @Test(arguments: 0..<30) func theTailHasNoHole(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let count = Int.random(in: 1...400, using: &random)
        let first = Int.random(in: 1...count, using: &random)
        let countMax = Int.random(in: 1...400, using: &random)
        let broken = Set((0..<2).map { _ in Int.random(in: 1...800, using: &random) })
        let (history, _) = Self.load(count, first: first, broken: broken, countMax: countMax)
        let lastBroken = broken.filter { $0 <= count && $0 >= first }.max() ?? 0
        let expected = Array((max(first, lastBroken + 1)..<(count + 1)).suffix(countMax))
        #expect(Self.ids(history) == expected, "seed \(seed)")
    }
}
