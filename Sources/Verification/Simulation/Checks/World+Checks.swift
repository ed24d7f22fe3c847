import DeploymentPlan
import LiveModel
import Refresh
import RoleMachines
import Sessions
import Sharding

/// The checks after every step, and those once peace has lasted.
extension World {
    func checkStep() {
        guard !touched.isEmpty else { return }
        var areWorkers = false
        for process in touched {
            process.forgetTouch()
            guard process.isUp else { continue }
            process.checkBounds()
            areWorkers = areWorkers || process is SimulatedWorker
        }
        touched.removeAll(keepingCapacity: true)
        // Only processes that did something need a check: as time passes, leases only end.
        if areWorkers { checkOwners() }
    }

    /// Checks that each shard is served by at most one worker, including suspended ones: no worker may trust its lease
    /// when another could hold it.
    private func checkOwners() {
        var owners: [SimulatedWorker?] = Array(repeating: nil, count: Workload.shardCount)
        for worker in workers where worker.isUp {
            let (leases, nowMs) = (worker.machine.leases, worker.nowMs)
            for shard in 0..<Workload.shardCount where leases.isServing(ShardID(shard), nowMs: nowMs) {
                if let other = owners[shard] {
                    violated("one owner: \([other.name, worker.name]) serve shard \(shard)")
                }
                owners[shard] = worker
            }
        }
    }

    /// Checks that an acknowledged mutation is committed.
    func acknowledged(_ id: String) {
        if !postgres.committed.contains(id) { violated("honest acknowledgement: \(id) is not committed") }
        wait(for: id)
    }

    /// Checks that a node removed another one's entry only because its process has ended: otherwise the others count a
    /// running node as gone, take its shards and forget its interest.
    func removed(_ payload: [UInt8], by remover: Process) {
        guard let identity = NodeRecordPayload(payload: payload)?.process else { return }
        let process = processes[Int(identity.processID) - 1]
        if process.isUp, process.identity == identity {
            violated("node list: \(remover.name) removed the entry of \(process.name), which runs")
        }
    }

    // MARK: When peace has lasted

    func checkConvergence() {
        let current = postgres.deployments.lastActive.map { Workload.number(of: $0.version) } ?? 1
        for client in clients where client.query.isServed(by: current) {
            guard let connection = client.connection, connection.gateway.isUp else {
                violated("convergence: client \(client.number) is not connected")
                continue
            }
            let gateway = connection.gateway
            let shard = gateway.machine.shard(of: connection.query)
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
                    "convergence: client \(client.number) has \(held)\(fault), true is "
                        + String(decoding: truth, as: UTF8.self)
                )
            }
        }
        for app in apps { app.checkConvergence() }
        if !postgres.outbox.isEmpty { violated("convergence: \(postgres.outbox.count) rows are left in the outbox") }
        let owned = workers.flatMap(\.machine.refresh.ownedShards)
        if Set(owned).count != Workload.shardCount || owned.count != Workload.shardCount {
            violated("one owner: shards have not exactly one: \(owned)")
        }
    }

    /// Checks that all counters are zero after all clients have left.
    func checkNothingIsLeft() {
        for gateway in gateways {
            let counts = gateway.machine.counts
            if counts.liveQueries + counts.subscriptions + counts.awaiting > 0 {
                violated("left over: live queries at \(gateway.name)")
            }
            if gateway.hubs.contains(where: { $0.subscriptionCount > 0 }) || !gateway.connections.isEmpty {
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
        for app in apps { app.checkNothingIsLeft() }
        for node in apiNodes where !node.publisher.isIdle { violated("left over: events at \(node.name)") }
    }
}
