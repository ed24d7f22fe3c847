import JSON
import LiveModel
import SeededRandom
import Sessions
import Testing

/// Fingerprints kept up to date with every change, compared with a plain model that is walked whole each time.
@Suite struct InterestFingerprintsTests {
    private struct Model {
        struct Entry {
            var hubs: [Int] = []
            var repeatAtMs: Int64?
            var retries = 0
            var lingerUntilMs: Int64?
            var bytes = 0
        }

        var entries: [LiveQueryKey: Entry] = [:]

        mutating func follow(_ actions: [InterestMachine.Action], nowMs: Int64) {
            for action in actions {
                switch action {
                case .tell(_, .announce(_, let query, _, _)):
                    let retries = entries[query.key]?.retries ?? 0
                    entries[query.key, default: Entry()].repeatAtMs = nowMs + min(30_000, 2_000 << Int64(retries))
                case .tell(_, .withdraw(_, let key)): entries[key] = nil
                default: break
                }
            }
        }
    }

    @Test(arguments: 0..<20) func sumsAndDeadlinesAreThoseOfAWalk(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var machine = InterestMachine(gateway: NodeID("g"), settings: .init())
        var model = Model()
        var nowMs: Int64 = 0
        var run: UInt64 = 0
        for step in 0..<400 {
            let query = SessionFixture.query(Int.random(in: 0..<12, using: &random))
            let hub = Int.random(in: 0..<3, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1:
                let start = try machine.subscribed(hub: hub, query, known: nil, nowMs: nowMs)
                model.entries[query.key, default: .init()].hubs.append(hub)
                model.entries[query.key]?.lingerUntilMs = nil
                model.follow(start.actions, nowMs: nowMs)
            case 2:
                let actions = machine.unsubscribed(hub: hub, query.key, nowMs: nowMs)
                if let index = model.entries[query.key]?.hubs.firstIndex(of: hub) {
                    model.entries[query.key]?.hubs.remove(at: index)
                    if model.entries[query.key]?.hubs.isEmpty == true {
                        model.entries[query.key]?.lingerUntilMs = nowMs + 30_000
                    }
                }
                #expect(actions.isEmpty)
            case 3:
                run += 1
                _ = machine.inboxArrived(SessionFixture.result(step, run, query: query), nowMs: nowMs)
                model.entries[query.key]?.bytes = "\(step)".utf8.count
                model.entries[query.key]?.repeatAtMs = nil
                model.entries[query.key]?.retries = 0
            default:
                nowMs += Int64.random(in: 500...9_000, using: &random)
                let ended = model.entries.filter { $0.value.lingerUntilMs.map { $0 <= nowMs } ?? false }.keys
                let repeated = model.entries.filter { key, entry in
                    !ended.contains(key) && entry.repeatAtMs.map { $0 <= nowMs } ?? false
                }.keys
                for key in repeated { model.entries[key]?.retries += 1 }
                let actions = machine.timeReached(nowMs: nowMs)
                var changed: (ended: Set<LiveQueryKey>, repeated: Set<LiveQueryKey>) = ([], [])
                for case .tell(_, let message) in actions {
                    switch message {
                    case .withdraw(_, let key): changed.ended.insert(key)
                    case .announce(_, let query, _, _): changed.repeated.insert(query.key)
                    case .summary(_, let count, let fingerprint, _):
                        let left = model.entries.keys.filter { !ended.contains($0) }
                        #expect(count == left.count)
                        #expect(fingerprint == left.reduce(0) { $0 ^ $1.digest.prefix })
                    case .leave: Issue.record("nobody left")
                    }
                }
                #expect(changed.ended == Set(ended) && changed.repeated == Set(repeated), "seed \(seed), step \(step)")
                model.follow(actions, nowMs: nowMs)
            }
            let entries = model.entries.values
            #expect(machine.liveQueryCount == entries.count)
            #expect(machine.subscriptionCount == entries.reduce(0) { $0 + $1.hubs.count })
            #expect(machine.awaitingCount == entries.count { $0.repeatAtMs != nil })
            #expect(machine.resultBytes == entries.reduce(0) { $0 + $1.bytes }, "seed \(seed), step \(step)")
        }
    }
}
