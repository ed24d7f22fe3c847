import FreshetLink
import FreshetQueue
import FreshetStore

extension Engine {
    /// The sizes of all that grows while an app follows queries and stops, for tests of memory.
    package var heldCounts: [String: Int] {
        [
            "feeds": feeds.count + keys.count, "subscribers": feeds.values.reduce(0) { $0 + $1.subscribers.count },
            "link": link.heldCount, "results": store.resultCount, "rows": store.entityCount, "pins": store.pinCount,
            "partials": store.partialCount,
            "observers": observers.count, "statuses": statuses.count, "queueEvents": queueEvents.count,
            "mutations": queues.values.reduce(0) { $0 + $1.pendingCount }, "waits": waiters.count + mutationWaits.count,
            "answers": answers.count, "settled": settled.count, "sockets": sockets.count, "exchanges": exchanges.count,
        ]
    }
}
