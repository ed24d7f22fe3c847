import LiveModel
import SeededRandom
import Testing

@testable import Broker
import Streams

/// A reader with its two reads against a model of the server, in random order.
@Suite("Reading lanes")
struct ReadingLanesTests {
    private typealias Lane = ReadingLanes.Lane

    private struct Model {
        struct Followed {
            var start: ReadingLanes.Start
            var isLively = false
        }

        /// Entries by stream, ascending.
        var server: [String: [StreamID]] = [:]
        var lanes = ReadingLanes()
        var followed: [String: Followed] = [:]
        /// What was handed out of each stream since it was followed last.
        var seen: [String: [StreamID]] = [:]
        var from: [String: StreamID] = [:]
        var follows = 0
        var nextID: UInt64 = 1
        var asked: [Int: [String]] = [:]

        var streams: [String: ReadingLanes.Stream] {
            followed.mapValues { .init(start: $0.start, isLively: $0.isLively) }
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
            for (lane, names) in lanes.next(streams) {
                lanes.sent(lane, Dictionary(uniqueKeysWithValues: names.map { ($0, followed[$0]!.start) }))
                asked[lane.rawValue] = names
            }
        }

        /// - Parameter countMax: entries of each stream.
        mutating func answer(_ lane: Lane, countMax: Int) {
            let asked = lanes.answered(lane)
            for (stream, start) in asked {
                guard let now = followed[stream], ReadingLanes.isOfUse(start, now.start) else { continue }
                let answer = (server[stream] ?? []).filter { $0 > start.cursor }.prefix(countMax)
                let new = answer.filter { $0 > now.start.cursor }
                guard let last = new.last else { continue }
                seen[stream]?.append(contentsOf: new)
                followed[stream]?.start = .init(follow: now.start.follow, cursor: last)
                followed[stream]?.isLively = true
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
                    // Anew from anywhere, also from before what was read.
                    let cursor = (model.server[name] ?? []).randomElement(using: &random) ?? .zero
                    model.follow(name, after: cursor)
                case 5: model.followed[name] = nil
                case 6: model.followed[name]?.isLively = false
                case 7:
                    model.lanes.lost()
                default:
                    let lane: Lane = Bool.random(using: &random) ? .lively : .quiet
                    if !model.lanes.isFree(lane) {
                        model.answer(lane, countMax: Int.random(in: 1...3, using: &random))
                    }
                }
                model.sendAll()
                // What is left out is read when the quiet read has been interrupted.
                if model.lanes.isAnyLeftOut(model.streams) {
                    #expect(!model.lanes.isFree(.quiet), "seed \(seed)")
                    model.answer(.quiet, countMax: 0)
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

    @Test("streams that had something lately are read apart when there are many")
    func apart() {
        var model = Model()
        for number in 0..<40 { model.follow("s\(number)", after: .zero) }
        model.sendAll()
        #expect(model.asked[Lane.quiet.rawValue]?.count == 40)
        #expect(model.lanes.isFree(.lively))
        for number in 0..<3 { model.append("s\(number)") }
        model.answer(.quiet, countMax: 10)
        model.sendAll()
        #expect(model.asked[Lane.lively.rawValue]?.sorted() == ["s0", "s1", "s2"])
        #expect(model.asked[Lane.quiet.rawValue]?.count == 37)
        // One that falls silent stays until the quiet read is sent anew.
        model.followed["s0"]?.isLively = false
        model.answer(.lively, countMax: 10)
        model.followed["s0"]?.isLively = false
        model.sendAll()
        #expect(model.asked[Lane.lively.rawValue]?.count == 3)
        model.answer(.quiet, countMax: 10)
        model.answer(.lively, countMax: 10)
        model.sendAll()
        #expect(model.asked[Lane.lively.rawValue]?.sorted() == ["s1", "s2"])
        #expect(model.asked[Lane.quiet.rawValue]?.count == 38)
    }

    @Test("few streams are read by one read")
    func together() {
        var model = Model()
        for number in 0..<16 { model.follow("s\(number)", after: .zero) }
        model.sendAll()
        for number in 0..<3 { model.append("s\(number)") }
        model.answer(.quiet, countMax: 10)
        model.sendAll()
        #expect(model.lanes.isFree(.lively))
        #expect(model.asked[Lane.quiet.rawValue]?.count == 16)
    }
}
