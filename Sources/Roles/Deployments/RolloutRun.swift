import Clocks
import DeploymentPlan
import LiveModel

/// The steps of a rollout that depend on who runs it.
protocol RolloutSteps: Sendable {
    /// The project to deploy and the name recorded in the history.
    var archive: ProjectArchive { get }
    var user: String { get }
    var historyMax: Int { get }

    func nodes() async throws -> [NodeRecordPayload]
    /// - Returns: nil when the version is not stored.
    mutating func loadFormer(_ deployment: Int64, _ version: Digest) async throws -> RolloutMachine.Candidate?
    /// - Returns: the number of changes that would break clients; nil when the version is not stored.
    func breakingChanges(from version: Digest) async throws -> Int?
    func plan() async throws -> RolloutMachine.Answer
    /// - Returns: the candidate if it says something else of the migrated database.
    mutating func migrate() async throws -> RolloutMachine.Candidate?
    func report(_ report: RolloutMachine.Report)
}

/// Performs the effects of `RolloutMachine`, one call at a time.
struct RolloutRun<Steps: RolloutSteps> {
    let store: DeploymentStore
    var steps: Steps
    private let begunMs = MonotonicClock.nowMs()

    init(_ store: DeploymentStore, _ steps: Steps) {
        self.store = store
        self.steps = steps
    }

    /// Runs the rollout to its end.
    /// - Throws: the error that ended it.
    mutating func run(
        _ machine: RolloutMachine, _ begin: (inout RolloutMachine) -> [RolloutMachine.Effect]
    ) async throws {
        var machine = machine
        var effects = begin(&machine)
        while true {
            var next: [RolloutMachine.Effect] = []
            for effect in effects {
                switch effect {
                case .perform(let id, let call):
                    let answer = await answer(to: call)
                    next += machine.answered(id, answer, nowMs: MonotonicClock.nowMs() - begunMs)
                case .report(let report): steps.report(report)
                case .end(let error?): throw error
                case .end(nil): return
                }
            }
            effects = next
        }
    }

    private mutating func answer(to call: RolloutMachine.Call) async -> RolloutMachine.Answer {
        do {
            return try await perform(call)
        } catch {
            return .failed(error)
        }
    }

    private mutating func perform(_ call: RolloutMachine.Call) async throws -> RolloutMachine.Answer {
        switch call {
        case .readHistory: return .history(try await store.history())
        case .loadFormer(let deployment, let version):
            return try await steps.loadFormer(deployment, version).map { .candidate($0) } ?? .notStored
        case .withdraw: try await store.withdrawAnnounced()
        case .readNodes: return .nodes(try await steps.nodes())
        case .compare(let version):
            return try await steps.breakingChanges(from: version).map { .compared(breaking: $0) } ?? .notStored
        case .plan: return try await steps.plan()
        case .migrate: return try await steps.migrate().map { .candidate($0) } ?? .done
        case .announce: return .announced(deployment: try await store.announce(steps.archive, by: steps.user))
        case .activate(let id): return .activated(try await store.activate(id))
        case .prune(let versions): try await store.prune(keeping: versions, historyMax: steps.historyMax)
        case .wait(let ms): try await Task.sleep(for: .milliseconds(ms))
        }
        return .done
    }
}
