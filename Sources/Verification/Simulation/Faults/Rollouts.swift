import LiveModel

// Faults that deploy versions of the project and releases of the program.

extension World {
    /// Deploys a version while everything runs. Some nodes are suspended meanwhile, some for so long that the rollout
    /// does not wait for them; others have mutations in progress.
    func rollOut() {
        deployNextVersion()
        let node = pick(apiNodes)
        for _ in 0..<timeline.pick(0...2) {
            timeline.after(timeline.pick(0...2_500)) { [self] in mutateSlowly(Workload.lateEntity, at: node) }
        }
        guard timeline.chance(60) else { return }
        let suspended = timeline.chance(60) ? node : pick(workers)
        suspended.pause(ms: timeline.pick(3_000...9_000))
        for _ in 0..<timeline.pick(1...3) {
            timeline.after(timeline.pick(0...300)) { [self] in mutate(Workload.lateEntity, at: node) }
        }
    }

    /// Rolls back or deploys a new version, which has an operation that no other version has.
    func deployNextVersion() {
        if rollouts.isUp, timeline.chance(15) { rollouts.kill() }
        let isRollback = timeline.chance(15)
        if !isRollback { version += 1 }
        rollouts.deploy(version, isRollback: isRollback)
    }

    /// Begins a mutation that takes so long to commit that versions are announced meanwhile.
    private func mutateSlowly(_ entity: String, at node: SimulatedAPINode) {
        node.later(0) { [self] in
            node.mutate(entity, commitsAfterMs: timeline.pick(1_000...5_000)) { [self] in acknowledged($0) }
        }
    }

    /// Deploys a version while a node is suspended for so long that the rollout does not wait for it: when it resumes,
    /// it has not loaded the version that clients use, and may commit mutations whose events only that version needs.
    func rollOut(past node: Process) {
        deployNextVersion()
        node.pause(ms: timeline.pick(14_000...17_000))
        let writer = node as? SimulatedAPINode ?? pick(apiNodes)
        for entity in [Workload.lateEntity, Workload.rareEntity] where timeline.chance(70) {
            mutate(entity, at: writer)
        }
        if timeline.chance(50) { mutateAll(withinMs: 6_000) }
        guard timeline.chance(70) else { return }
        for client in clients where client.query.operation == "Late" {
            timeline.after(timeline.pick(11_000...13_500)) { client.disconnect() }
        }
    }

    /// Deploys a version while a worker cannot load it for a while, clients reconnect and mutations take long.
    func rollOutAmongClients() {
        deployNextVersion()
        pick(workers).cutFromPostgres(ms: timeline.pick(2_000...5_000))
        for node in apiNodes {
            for _ in 0..<2 { mutateSlowly(Workload.lateEntity, at: node) }
        }
        for client in clients where timeline.chance(50) {
            timeline.after(timeline.pick(500...4_000)) { client.disconnect() }
        }
        timeline.after(timeline.pick(4_000...7_000)) { [self] in mutateAll(withinMs: 3_000) }
    }

    /// Replaces the program: nodes are drained and restarted, one after the other.
    func replaceProgram() {
        release += 1
        for process in processes {
            timeline.after(timeline.pick(0...6_000)) { [self] in
                if process.release != release { drainAndRestart(process) }
            }
        }
    }
}
