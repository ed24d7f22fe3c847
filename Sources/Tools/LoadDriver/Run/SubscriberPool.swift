import NIOCore

/// All subscribers: the shards of the event loops, called from tasks.
struct SubscriberPool: Sendable {
    private let shards: [LoopShard]

    /// The time between two steps of the ramp.
    static let rampStepMs: Int64 = 10

    init(_ shards: [LoopShard]) {
        self.shards = shards
    }

    /// Starts the subscribers at the ramp's rate.
    /// - Returns: the number started; fewer than all if the run was stopped.
    func connect(_ prepared: Preparation, ramp: ConnectRamp, isStopped: () -> Bool) async -> Int {
        let startNs = DeliveryClock.nowNs()
        var started = 0
        while started < ramp.total, !isStopped() {
            let upTo = ramp.startedBy(DeliveryClock.nowNs() - startNs)
            while started < upTo {
                let index = started
                let (query, transport) = prepared.subscribers[index]
                let target = prepared.targets[query]
                let shard = shards[index % shards.count]
                shard.eventLoop.execute { shard.start(index, target, query: query, transport: transport) }
                started += 1
            }
            await LoadRun.pause(ms: Self.rampStepMs)
        }
        return started
    }

    func snapshot() async -> LoopSnapshot {
        var sum = LoopSnapshot()
        for shard in shards { sum.add(await shard.eventLoop.perform { shard.snapshot() }) }
        return sum
    }

    func measure(_ isMeasuring: Bool) async {
        for shard in shards { await shard.eventLoop.perform { shard.measure(isMeasuring) } }
    }

    func held(_ queries: Set<Int>) async -> [Int: HeldResults] {
        var sum: [Int: HeldResults] = [:]
        for shard in shards {
            for (query, held) in await shard.eventLoop.perform({ shard.held(queries) }) {
                sum[query, default: HeldResults()].add(held)
            }
        }
        return sum
    }

    func stop() async {
        for shard in shards { await shard.eventLoop.perform { shard.stop() } }
    }
}

extension EventLoop {
    /// Runs `work` on the event loop and returns the result.
    func perform<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            execute { continuation.resume(returning: work()) }
        }
    }
}

extension MutationDriver {
    /// Returns when every mutation is answered.
    func finish(on eventLoop: any EventLoop) async {
        let promise = eventLoop.makePromise(of: Void.self)
        eventLoop.execute { self.whenFinished(promise) }
        try? await promise.futureResult.get()
    }
}
