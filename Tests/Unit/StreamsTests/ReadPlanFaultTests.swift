import LiveModel
import RedisModel
import SeededRandom
import Streams
import Testing

/// A reader's plan against a model of Redis that loses connections, trims and restarts, all by one seed.
@Suite("Read plan under faults")
struct ReadPlanFaultTests {
    private struct Model {
        /// The history of a stream since it was followed last.
        struct Log {
            var appended: [StreamID]
            var seen: [StreamID] = []
            var hasSignal = false
            /// The plan knows which server the stream was on.
            var isCompared = false
        }

        var plan = ReadPlan(
            .init(blockMs: 5_000, silenceMaxMs: 10_000, reconnectMinMs: 20, reconnectMaxMs: 2_000),
            random: { $0.upperBound })
        var random: SeededRandom
        let names: [String]
        var nowMs: UInt64 = 1_000
        var hasFaults = true
        // The server.
        var streams: [String: MemoryStream] = [:]
        var ids: [String: [StreamID]] = [:]
        var restarts = 0
        /// Reads that block, and answers that arrived.
        var reads: [ReadPlan.Lane: ReadPlan.Read] = [:]
        var answers: [ReadPlan.Lane: [[StreamBatch]]] = [:]
        var isCut = false
        // The consumer.
        var changes: ReadPlan.Changes = [:]
        var logs: [String: Log] = [:]

        init(seed: UInt64, streamCount: Int) {
            random = SeededRandom(seed: seed)
            names = (0..<streamCount).map { "s\($0)" }
        }

        var nowNs: UInt64 { nowMs * 1_000_000 }
        mutating func chance(_ percent: Int) -> Bool { hasFaults && Int.random(in: 0..<100, using: &random) < percent }

        // MARK: Server

        mutating func append(_ name: String) {
            nowMs += 1
            let id = streams[name, default: MemoryStream()].append([], lengthMax: 70, nowMs: nowMs)
            ids[name, default: []].append(id)
            logs[name]?.appended.append(id)
            for (lane, read) in reads where read.blocking.contains(where: { $0.stream == name }) {
                finish(lane, read, [name])
            }
        }

        func entries(_ positions: [ReadPlan.Position], count: Int) -> [StreamBatch] {
            positions.compactMap { position in
                let found = streams[position.stream]?.range(after: position.cursor, through: .max, limit: count) ?? []
                return found.isEmpty ? nil : StreamBatch(stream: position.stream, entries: found)
            }
        }

        /// A blocking read ends with these streams; the plain one behind it is answered at once.
        mutating func finish(_ lane: ReadPlan.Lane, _ read: ReadPlan.Read, _ names: Set<String>) {
            let blocking = entries(read.blocking.filter { names.contains($0.stream) }, count: read.blockingCount)
            reads[lane] = nil
            answers[lane] = [blocking] + (read.plain.isEmpty ? [] : [entries(read.plain, count: read.plainCount)])
        }

        mutating func restart() {
            restarts += 1
            isCut = true
            guard chance(50) else { return }
            streams = [:]
            for name in logs.keys where logs[name]?.isCompared == false { logs[name]?.appended = [] }
        }

        /// Makes a random change, as other clients and servers do meanwhile.
        mutating func others() {
            guard hasFaults else { return }
            let name = names[min(Int.random(in: 0..<names.count, using: &random), names.count - 1)]
            switch Int.random(in: 0..<40, using: &random) {
            case 0..<14: append(name)
            case 14..<16: for _ in 0..<100 { append(name) }
            case 16..<22: nowMs += UInt64.random(in: 1...400, using: &random)
            case 22..<26:
                let cursor = (ids[name] ?? []).randomElement(using: &random) ?? .zero
                changes[name] = .some(.init(cursor: cursor))
                logs[name] = Log(appended: (ids[name] ?? []).filter { $0 > cursor })
                if streams[name] == nil { logs[name]?.appended = [] }
            case 26:
                changes[name] = .some(nil)
                logs[name] = nil
            case 27: isCut = true
            case 28: if chance(30) { restart() }
            default: break
            }
        }

        // MARK: The performer

        /// - Returns: false when the plan waits for something that does not come.
        mutating func step() -> Bool {
            others()
            let action = plan.next(nowNs: nowNs)
            switch action {
            case .takeRequests:
                plan.requested(
                    changes, maxEntries: chance(10) ? nil : Int.random(in: 1...200, using: &random), nowNs: nowNs)
                changes = [:]
            case .sleep(let untilNs):
                guard let untilNs else { return hasFaults || !logs.isEmpty }
                nowMs = max(nowMs, (untilNs + 999_999) / 1_000_000)
            case .connect:
                if chance(10) {
                    plan.connectFailed(nowNs: nowNs)
                } else {
                    plan.connected(server: "S\(restarts)", isIdentified: true, nowNs: nowNs)
                }
                isCut = false
            case .compare, .read, .watch, .takeReply:
                if isCut || chance(1) {
                    plan.failed("cut", nowNs: nowNs)
                    isCut = false
                } else {
                    return use(action)
                }
            case .deliver(let batches): deliver(batches)
            case .unblock: if !isCut, let read = reads[.cold] { finish(.cold, read, []) }
            case .close(let lane): (reads[lane], answers[lane]) = (nil, nil)
            case .disconnect: (reads, answers) = ([:], [:])
            case .countReconnect: break
            case .readMoving, .fail: Issue.record("\(action)")
            }
            return true
        }

        mutating func use(_ action: ReadPlan.Action) -> Bool {
            switch action {
            case .compare(_, let positions):
                let found = positions.map { position in
                    ReadPlan.Comparison(
                        info: streams[position.stream]?.info,
                        cursorExists: streams[position.stream]?.contains(position.cursor) ?? false)
                }
                plan.compared(.success(found), nowNs: nowNs)
            case .read(let lane, let read):
                reads[lane] = read
                for position in read.blocking where changes[position.stream] == nil {
                    logs[position.stream]?.isCompared = true
                }
                let found = entries(read.blocking, count: read.blockingCount)
                if !found.isEmpty { finish(lane, read, Set(read.blocking.map(\.stream))) }
            case .takeReply(let lane, let parts):
                let answer = answers.removeValue(forKey: lane) ?? []
                #expect(answer.count == parts)
                plan.replied(answer.map { .success($0) }, nowNs: nowNs)
            case .watch(_, _, let untilNs):
                let sinceNs = nowNs
                if !answers.isEmpty {
                    let (hot, cold) = (answers[.hot] != nil, answers[.cold] != nil)
                    plan.watched(.readable(hot: hot, cold: cold), sinceNs: sinceNs, nowNs: nowNs)
                } else if !changes.isEmpty {
                    plan.watched(.interrupted(.init(hasChanges: true)), sinceNs: sinceNs, nowNs: nowNs)
                } else if chance(20) {
                    plan.watched(.interrupted(.init(isReading: false)), sinceNs: sinceNs, nowNs: nowNs)
                } else if !hasFaults {
                    return false
                } else if chance(5) {
                    nowMs = max(nowMs, (untilNs + 999_999) / 1_000_000)
                    plan.watched(.elapsed, sinceNs: sinceNs, nowNs: nowNs)
                } else {
                    nowMs += 1
                    plan.watched(.elapsed, sinceNs: sinceNs, nowNs: nowNs)
                }
            default: Issue.record("\(action)")
            }
            return true
        }

        mutating func deliver(_ batches: [StreamBatch]) {
            var taken: Set<String> = []
            for batch in batches where changes[batch.stream] == nil && !chance(10) {
                #expect(logs[batch.stream] != nil, "\(batch.stream) is not followed")
                taken.insert(batch.stream)
                if batch.signal != nil { logs[batch.stream]?.hasSignal = true }
                logs[batch.stream]?.seen += batch.entries.map(\.id)
            }
            plan.delivered(taken)
        }
    }

    @Test("every entry comes once and in order, or a signal reports a loss", arguments: [2, 10, 40])
    func everyEntry(streamCount: Int) {
        for seed in 0..<40 as Range<UInt64> {
            var model = Model(seed: seed, streamCount: streamCount)
            for _ in 0..<800 { _ = model.step() }
            model.hasFaults = false
            var steps = 0
            while model.step(), steps < 5_000 { steps += 1 }
            #expect(steps < 5_000, "seed \(seed)")
            for (name, log) in model.logs {
                #expect(zip(log.seen, log.seen.dropFirst()).allSatisfy { $0 < $1 }, "seed \(seed), \(name)")
                if !log.hasSignal { #expect(log.seen == log.appended, "seed \(seed), \(name)") }
                let held = Set(model.streams[name]?.entries.map(\.id) ?? []).intersection(log.appended)
                #expect(held.isSubset(of: log.seen), "seed \(seed), \(name)")
            }
        }
    }
}
