import Refresh
import RoleMachines
import Sessions

// The limits on each kind of process.

extension Process {
    func checkBounds() {
        if !roles.isEmpty { check(deployments.served.others.count <= SimulatedDeployments.othersMax, "versions") }
        switch self {
        case let worker as SimulatedWorker: worker.checkMachine()
        case let gateway as SimulatedGateway: gateway.checkMachine()
        case let node as SimulatedAPINode: node.checkMachine()
        case let tailer as SimulatedTailer: tailer.checkMachine()
        case is SimulatedOperator: break
        default: preconditionFailure("\(name) is of no kind")
        }
    }

    /// The most versions that are served at one time.
    fileprivate var versionsMax: Int { 1 + SimulatedDeployments.othersMax }

    fileprivate func check(_ isWithin: Bool, _ what: @autoclosure () -> String) {
        if !isWithin { world.violated("bounds: \(what()) at \(name)") }
    }
}

extension SimulatedTailer {
    fileprivate func checkMachine() {
        // The reading is stopped only once the bound is reached, between two chunks.
        check(machine.waiting <= settings.queueMax + Self.chunkMax, "transactions of the log")
    }
}

extension SimulatedWorker {
    fileprivate func checkMachine() {
        // Each live query may be at two shards while it moves, and in each version.
        let liveQueriesMax = 2 * Workload.clientQueries.count * Workload.shardCount * versionsMax
        let refresh = machine.refresh
        check(refresh.runsInFlightCount <= refresh.settings.statementsMax, "runs in flight")
        check(refresh.liveQueryCount <= liveQueriesMax, "live queries")
        check(refresh.dueCount <= liveQueriesMax + RefreshMachine.leftoversMax, "due live queries")
        check(refresh.timerCount <= 3 * liveQueriesMax + RefreshMachine.leftoversMax, "timers")
        check(refresh.historyCountMax <= refresh.settings.historyMax, "history")
        check(machine.outgoingBytes <= World.outgoingBytesMax, "bytes to gateways")
        check(machine.callsUnderWay <= World.callsMax, "calls under way")
    }
}

extension SimulatedGateway {
    fileprivate func checkMachine() {
        let counts = machine.counts
        check(counts.liveQueries <= 2 * Workload.clientQueries.count * versionsMax, "live queries")
        check(machine.outgoingCount <= World.outgoingMax, "messages to shards")
        check(counts.subscriptions == hubs.reduce(0) { $0 + $1.subscriptionCount }, "two counts")
        for connection in connections.values {
            check(connection.pendingCount <= connection.subscriptions.count, "pending results of a session")
        }
    }
}

extension SimulatedAPINode {
    fileprivate func checkMachine() {
        check(publisher.inFlightCount <= World.publishingMax, "events being published")
        check(publisher.removalsWaiting <= World.publishingMax, "rows to remove")
    }
}
