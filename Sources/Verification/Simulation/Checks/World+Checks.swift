import LiveModel
import Refresh
import RoleMachines
import Sessions
import Sharding

/// What is looked at after every step, and when peace has lasted.
extension World {
    func checkStep() {
        checkOwners()
        checkBounds()
    }

    /// A shard is served by one worker at a time, also while one of them is stopped: no lease is believed in when it could
    /// be another's.
    private func checkOwners() {
        for shard in 0..<Workload.shardCount {
            let serving = workers.filter { $0.isUp && $0.machine.leases.isServing(ShardID(shard), nowMs: $0.nowMs) }
            if serving.count > 1 { violated("one owner: \(serving.map(\.name)) serve shard \(shard)") }
        }
    }

    private func checkBounds() {
        for worker in workers where worker.isUp {
            let machine = worker.machine.refresh
            // One more of each at another shard, while it moves.
            let liveQueriesMax = 2 * Workload.wishes.count * Workload.shardCount
            check(machine.runsInFlightCount <= machine.settings.runsMax, "runs in flight", worker)
            check(machine.liveQueryCount <= liveQueriesMax, "live queries", worker)
            check(machine.dueCount <= liveQueriesMax + RefreshMachine.leftoversMax, "due live queries", worker)
            check(machine.timerCount <= 3 * liveQueriesMax + RefreshMachine.leftoversMax, "timers", worker)
            check(machine.historyCountMax <= machine.settings.historyMax, "history", worker)
            check(worker.machine.outgoingBytes <= World.outgoingBytesMax, "bytes to gateways", worker)
            check(worker.machine.callsUnderWay <= World.callsMax, "calls under way", worker)
        }
        for gateway in gateways where gateway.isUp {
            let counts = gateway.machine.counts
            check(counts.liveQueries <= 2 * Workload.wishes.count, "live queries", gateway)
            check(gateway.machine.outgoingCount <= World.outgoingMax, "messages to shards", gateway)
            check(counts.subscriptions == gateway.tables.reduce(0) { $0 + $1.count }, "two counts", gateway)
            for connection in gateway.connections.values {
                check(connection.pendingCount <= 1, "pending results of one subscription", gateway)
            }
        }
        for node in apiNodes where node.isUp {
            check(node.publisher.inFlightCount <= World.publishingMax, "events being published", node)
            check(node.publisher.removalsWaiting <= World.publishingMax, "rows to remove", node)
        }
    }

    private func check(_ isWithin: Bool, _ what: String, _ process: Process) {
        if !isWithin { violated("bounds: \(what) at \(process.name)") }
    }

    /// An acknowledged mutation is committed.
    func acknowledged(_ id: String) {
        if !postgres.committed.contains(id) { violated("honest acknowledgement: \(id) is not committed") }
    }

    // MARK: When peace has lasted

    func checkConvergence() {
        for client in clients where client.wish.isServed(by: release) {
            guard let connection = client.connection, connection.gateway.isUp else {
                violated("convergence: client \(client.number) is not connected")
                continue
            }
            let gateway = connection.gateway
            let shard = gateway.shard(of: connection.query)
            let isRegistered = workers.contains { worker in
                worker.machine.leases.isServing(shard, nowMs: worker.nowMs)
                    && worker.machine.refresh.liveQueryReports(limit: .max).contains {
                        $0.key == connection.query.key && $0.shard == shard && $0.gateways.contains(gateway.me)
                    }
            }
            if !isRegistered {
                violated("registration: the owner of \(shard) does not know what client \(client.number) subscribed to")
            }
            let truth = postgres.result(of: connection.query)
            if client.body != truth || client.isAtFault {
                let held = client.body.map { String(decoding: $0, as: UTF8.self) } ?? "nothing"
                let fault = client.isAtFault ? " and an error" : ""
                violated(
                    "convergence: client \(client.number) has \(held)\(fault), true is \(String(decoding: truth, as: UTF8.self))"
                )
            }
        }
        if !postgres.outbox.isEmpty { violated("convergence: \(postgres.outbox.count) rows are left in the outbox") }
        let owned = workers.flatMap(\.machine.refresh.ownedShards)
        if Set(owned).count != Workload.shardCount || owned.count != Workload.shardCount {
            violated("one owner: shards have not exactly one: \(owned)")
        }
    }

    /// After everyone left all counters are zero.
    func checkNothingIsLeft() {
        for gateway in gateways {
            let counts = gateway.machine.counts
            if counts.liveQueries + counts.subscriptions + counts.awaiting > 0 {
                violated("left over: live queries at \(gateway.name)")
            }
            if gateway.tables.contains(where: { $0.count > 0 }) || !gateway.connections.isEmpty {
                violated("left over: subscriptions at \(gateway.name)")
            }
        }
        for worker in workers {
            let machine = worker.machine.refresh
            if machine.liveQueryCount + machine.runsInFlightCount > 0 || worker.machine.outgoingBytes > 0 {
                let whose = Set(machine.liveQueryReports(limit: 100).flatMap(\.gateways)).sorted()
                violated("left over: live queries at \(worker.name) for \(whose)")
            }
        }
        for node in apiNodes where !node.publisher.isIdle { violated("left over: events at \(node.name)") }
    }
}
