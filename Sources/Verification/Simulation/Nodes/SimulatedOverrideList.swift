import Sharding

/// Performs the reads of `OverrideList` for one process: its copy of the cluster's overrides.
final class SimulatedOverrideList {
    private unowned let process: Process
    private var latest: LatestRead<ClusterOverrides>

    init(_ process: Process) {
        self.process = process
        let none = ClusterOverrides()
        latest = LatestRead(none, generation: none.generation)
    }

    /// The overrides as of the last read.
    var overrides: ClusterOverrides { latest.value }

    /// Reads the overrides.
    /// - Parameter then: gets what was read; nil: there was no answer.
    func read(_ then: @escaping (ClusterOverrides?) -> Void) { read(latest.begin(), then) }

    private func read(_ ticket: LatestRead<ClusterOverrides>.Ticket, _ then: @escaping (ClusterOverrides?) -> Void) {
        process.call {
            $0.overrides
        } then: { [self] answer in
            guard let answer else { return then(nil) }
            process.sometimesLate { [self] in
                if latest.end(ticket, answer, generation: answer.generation) == nil {
                    process.world.note("\(process.name) drops overrides of generation \(answer.generation)")
                }
                then(answer)
            }
        }
    }

    /// Gets the overrides as of some time after the call.
    func confirm(_ then: @escaping (ClusterOverrides?) -> Void) {
        process.call {
            $0.overrides.generation
        } then: { [self] answer in
            guard let answer else { return then(nil) }
            switch latest.generationRead(answer) {
            case .useCopy(let overrides): then(overrides)
            case .read(let ticket): read(ticket, then)
            }
        }
    }
}
