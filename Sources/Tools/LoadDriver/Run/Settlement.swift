import JSON
import Pacing

/// Determines the verdict: after the last mutation, each distinct live query is read once and compared with its
/// subscribers' results. Those that differ are compared again until the time has passed.
struct Settlement: Sendable {
    static let readsInFlightMax = 32
    static let pauses = Backoff(minMs: 50, maxMs: 1_000)

    let targets: [LiveQueryTarget]
    let pool: HTTPPool
    let subscribers: SubscriberPool

    func verify(count: Int, settleMs: Int64, fromNs: Int64) async -> Verdict {
        let untilNs = fromNs + settleMs * 1_000_000
        var pending = Array(targets.indices)
        var differing: [Int: (subscribers: Int, reason: String)] = [:]
        var attempts = 0
        while true {
            differing = await compare(pending, untilNs: untilNs)
            pending = differing.keys.sorted()
            let leftMs = (untilNs - DeliveryClock.nowNs()) / 1_000_000
            if pending.isEmpty || leftMs <= 0 { break }
            await LoadRun.pause(ms: min(Self.pauses.delayMs(after: attempts), leftMs))
            attempts += 1
        }
        let shown = pending.prefix(Verdict.differencesMax).map { query in
            Verdict.Difference(
                operation: targets[query].operation, variables: JSONValue.object(targets[query].variables).description,
                subscribers: differing[query]?.subscribers ?? 0, reason: differing[query]?.reason ?? "")
        }
        return Verdict(
            subscribers: count, notConverged: differing.values.reduce(0) { $0 + $1.subscribers },
            liveQueries: targets.count, settledMs: (DeliveryClock.nowNs() - fromNs) / 1_000_000,
            differences: Array(shown))
    }

    private func compare(_ queries: [Int], untilNs: Int64) async -> [Int: (subscribers: Int, reason: String)] {
        let reads = await read(queries, untilNs: untilNs)
        // After the reads, so that what they returned has had time to arrive.
        let held = await subscribers.held(Set(queries))
        var differing: [Int: (subscribers: Int, reason: String)] = [:]
        for query in queries {
            let holders = held[query] ?? HeldResults()
            switch reads[query] {
            case .success(let body)?:
                if let difference = holders.difference(from: body) { differing[query] = difference }
            case .failure(let failure)?:
                differing[query] = (holders.subscribers, "could not be read: \(failure.code) \(failure.message)")
            case nil: differing[query] = (holders.subscribers, "could not be read")
            }
        }
        return differing
    }

    /// Reads live queries. After the deadline and a read that timed out, no more are started: a server that hangs must
    /// not block the verdict.
    private func read(
        _ queries: [Int], untilNs: Int64
    ) async -> [Int: Result<[UInt8], CodedFailure>] {
        await withTaskGroup(of: (Int, Result<[UInt8], CodedFailure>).self) { group in
            var results: [Int: Result<[UInt8], CodedFailure>] = [:]
            var waiting = queries.makeIterator()
            var isHopeless = false
            func addNext() {
                guard !isHopeless, let query = waiting.next() else { return }
                let request = PlainRequest.query(targets[query])
                group.addTask { [pool] in
                    let result = await pool.call(request)
                    if let failure = result.failure { return (query, .failure(failure)) }
                    return (query, result.map(\.body))
                }
            }
            for _ in 0..<Self.readsInFlightMax { addNext() }
            for await (query, result) in group {
                results[query] = result
                if case .failure(let failure) = result, failure.code == CodedFailure.timeout,
                    DeliveryClock.nowNs() >= untilNs
                {
                    isHopeless = true
                }
                addNext()
            }
            return results
        }
    }
}
