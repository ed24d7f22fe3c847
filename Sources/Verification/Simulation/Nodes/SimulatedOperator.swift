import DeploymentPlan
import LiveModel
import RoleMachines
import Streams

/// Performs `RolloutMachine` as `freshet deploy` does, in a process of its own that may be killed, suspended or cut
/// off.
final class SimulatedOperator: Process {
    /// The number of stored versions that pruning keeps.
    private static let historyMax = 3

    private var machine: RolloutMachine?
    private var number = 1
    /// The rollouts begun. Each is a program of its own, which hears no answers to a former one.
    private var rollouts = 0

    override func killed() { machine = nil }

    /// Deploys a version, or the one before the current again, unless a rollout is in progress.
    func deploy(_ number: Int, isRollback: Bool) {
        start()
        guard machine == nil else { return }
        world.note("\(name) \(isRollback ? "rolls back" : "deploys version \(number)")")
        self.number = number
        rollouts += 1
        var machine = RolloutMachine(settings: settings)
        let effects = isRollback ? machine.rollBack() : machine.deploy(candidate)
        self.machine = machine
        perform(effects)
    }

    private var candidate: RolloutMachine.Candidate { .init(version: Workload.version(number), byteCount: 1) }

    private var settings: RolloutMachine.Settings {
        var settings = RolloutMachine.Settings()
        settings.schedule = SimulatedDeployments.schedule(world)
        settings.versionsMax = SimulatedDeployments.othersMax
        // In peace, long enough for the entry of a suspended node to expire.
        settings.timeoutMs = world.hasFaults ? 8_000 : 20_000
        return settings
    }

    // MARK: Effects

    private func perform(_ effects: [RolloutMachine.Effect]) { for effect in effects { perform(effect) } }

    private func perform(_ effect: RolloutMachine.Effect) {
        switch effect {
        case .perform(let id, let call): perform(id, call)
        case .report(let report):
            world.note("\(name) \(report)")
            if case .deployed = report { world.faults["deployed", default: 0] += 1 }
        case .end(let error):
            world.note("\(name) \(error.map { "\($0)" } ?? "is done")")
            machine = nil
        }
    }

    private func perform(_ id: RolloutMachine.CallID, _ call: RolloutMachine.Call) {
        let (nowMs, version) = (timeline.nowMs, Workload.version(number))
        switch call {
        case .readHistory: ask(id) { .history($0.deployments.history(nowMs: nowMs)) }
        case .loadFormer(_, let version):
            number = Workload.number(of: version)
            answered(id, .candidate(candidate))
        case .withdraw:
            ask(id) {
                $0.deployments.withdrawAnnounced()
                return .done
            }
        case .readNodes: readNodes(id)
        case .compare: answered(id, .compared(breaking: 0))
        case .plan: answered(id, .planned(steps: [], isHarmful: false))
        case .migrate: answered(id, .done)
        case .announce: ask(id) { .announced(deployment: $0.deployments.announce(version, nowMs: nowMs)) }
        case .activate(let deployment): ask(id) { .activated($0.deployments.activate(deployment, nowMs: nowMs)) }
        case .prune(let versions):
            ask(id) {
                $0.deployments.prune(keeping: versions, historyMax: Self.historyMax)
                return .done
            }
        case .wait(let ms): later(ms) { [self] in answered(id, .done) }
        }
    }

    private func ask(_ id: RolloutMachine.CallID, _ execute: @escaping (SimulatedPostgres) -> RolloutMachine.Answer) {
        statement(execute) { [self] outcome in
            if case .done(let answer) = outcome { return answered(id, answer) }
            answered(id, .failed(StepFailure("Postgres is away")))
        }
    }

    private func readNodes(_ id: RolloutMachine.CallID) {
        call {
            $0.nodeRecords().compactMap { NodeRecordPayload(payload: $0.payload) }
        } then: { [self] records in
            guard var records else { return answered(id, .failed(StepFailure("Redis is away"))) }
            if world.sabotage == .activatedEarly {
                for index in records.indices { records[index].deployment = .max }
            }
            answered(id, .nodes(records))
        }
    }

    /// Hands an answer to the machine, from time to time twice.
    private func answered(_ id: RolloutMachine.CallID, _ answer: RolloutMachine.Answer) {
        let rollout = rollouts
        func take() {
            guard rollout == rollouts, var machine else { return }
            let effects = machine.answered(id, answer, nowMs: timeline.nowMs)
            self.machine = machine
            perform(effects)
        }
        take()
        sometimesAgain(id) { take() }
    }
}
