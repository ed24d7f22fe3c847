import LiveModel
import SeededRandom
import Streams
import Testing

/// A reader with its two reads against a model of the server, in random order.
@Suite("Read lanes")
struct ReadLanesTests {
    private typealias Lane = ReadLanes.Lane

    private struct Model {
        struct Followed {
            var start: ReadLanes.Start
            var isHot = false
        }

        /// Entries by stream, ascending.
        var server: [String: [StreamID]] = [:]
        var lanes = ReadLanes()
        var followed: [String: Followed] = [:]
        /// The entries delivered from each stream since it was followed last.
        var seen: [String: [StreamID]] = [:]
        var from: [String: StreamID] = [:]
        var follows = 0
        var nextID: UInt64 = 1
        var asked: [Int: [String]] = [:]

        var streams: [ReadLanes.Stream] {
            followed.map { .init(name: $0, start: $1.start, isHot: $1.isHot) }
        }

        var isDone: Bool {
            followed.allSatisfy { stream, now in (server[stream] ?? []).allSatisfy { $0 <= now.start.cursor } }
        }

        mutating func append(_ stream: String) {
            server[stream, default: []].append(StreamID(ms: nextID, sequence: 0))
            nextID += 1
        }

        mutating func follow(_ stream: String, after cursor: StreamID) {
            follows += 1
            followed[stream] = Followed(start: .init(follow: follows, cursor: cursor))
            seen[stream] = []
            from[stream] = cursor
        }

        mutating func sendAll() {
            for (lane, streams) in lanes.next(streams) {
                lanes.sent(lane, streams)
                asked[lane.rawValue] = streams.map(\.name)
            }
        }

        /// - Parameter countMax: entries of each stream.
        mutating func answer(_ lane: Lane, countMax: Int) {
            let asked = lanes.answered(lane)
            for (stream, start) in asked {
                guard let now = followed[stream], ReadLanes.isOfUse(start, now.start) else { continue }
                let answer = (server[stream] ?? []).filter { $0 > start.cursor }.prefix(countMax)
                let new = answer.filter { $0 > now.start.cursor }
                guard let last = new.last else { continue }
                seen[stream]?.append(contentsOf: new)
                followed[stream]?.start = .init(follow: now.start.follow, cursor: last)
                followed[stream]?.isHot = true
            }
        }
    }

    @Test("every entry comes once and in order, whatever the reads' order", arguments: [3, 16, 17, 60])
    func everyEntry(count: Int) {
        for seed in 0..<60 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var model = Model()
            let names = (0..<count).map { "s\($0)" }
            for name in names where Bool.random(using: &random) { model.follow(name, after: .zero) }
            for _ in 0..<400 {
                let name = names.randomElement(using: &random)!
                switch Int.random(in: 0..<12, using: &random) {
                case 0..<4: model.append(name)
                case 4:
                    // Followed again from anywhere, also from before what was read.
                    let cursor = (model.server[name] ?? []).randomElement(using: &random) ?? .zero
                    model.follow(name, after: cursor)
                case 5: model.followed[name] = nil
                case 6: model.followed[name]?.isHot = false
                case 7:
                    model.lanes.lost()
                default:
                    let lane: Lane = Bool.random(using: &random) ? .hot : .cold
                    if !model.lanes.isFree(lane) {
                        model.answer(lane, countMax: Int.random(in: 1...3, using: &random))
                    }
                }
                model.sendAll()
                // Streams left out are read when the cold read has been interrupted.
                if model.lanes.isAnyLeftOut(model.streams) {
                    #expect(!model.lanes.isFree(.cold), "seed \(seed)")
                    model.answer(.cold, countMax: 0)
                    model.sendAll()
                }
                #expect(!model.lanes.isAnyLeftOut(model.streams), "seed \(seed)")
            }
            for _ in 0..<1_000 where !model.isDone {
                for lane in Lane.allCases where !model.lanes.isFree(lane) { model.answer(lane, countMax: 5) }
                model.sendAll()
            }
            for (stream, _) in model.followed {
                let wanted = (model.server[stream] ?? []).filter { $0 > model.from[stream]! }
                #expect(model.seen[stream] == wanted, "seed \(seed), \(stream)")
            }
        }
    }

    @Test("hot streams are read apart when there are many")
    func apart() {
        var model = Model()
        for number in 0..<40 { model.follow("s\(number)", after: .zero) }
        model.sendAll()
        #expect(model.asked[Lane.cold.rawValue]?.count == 40)
        #expect(model.lanes.isFree(.hot))
        for number in 0..<3 { model.append("s\(number)") }
        model.answer(.cold, countMax: 10)
        model.sendAll()
        #expect(model.asked[Lane.hot.rawValue]?.sorted() == ["s0", "s1", "s2"])
        #expect(model.asked[Lane.cold.rawValue]?.count == 37)
        // One that falls silent stays until the cold read is sent again.
        model.followed["s0"]?.isHot = false
        model.answer(.hot, countMax: 10)
        model.followed["s0"]?.isHot = false
        model.sendAll()
        #expect(model.asked[Lane.hot.rawValue]?.count == 3)
        model.answer(.cold, countMax: 10)
        model.answer(.hot, countMax: 10)
        model.sendAll()
        #expect(model.asked[Lane.hot.rawValue]?.sorted() == ["s1", "s2"])
        #expect(model.asked[Lane.cold.rawValue]?.count == 38)
    }

    @Test("few streams are read by one read")
    func together() {
        var model = Model()
        for number in 0..<16 { model.follow("s\(number)", after: .zero) }
        model.sendAll()
        for number in 0..<3 { model.append("s\(number)") }
        model.answer(.cold, countMax: 10)
        model.sendAll()
        #expect(model.lanes.isFree(.hot))
        #expect(model.asked[Lane.cold.rawValue]?.count == 16)
    }
}
