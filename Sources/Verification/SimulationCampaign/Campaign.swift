import Foundation
package import Simulation
import Synchronization

/// Runs many seeds, several at a time; each world runs on one thread.
package struct Campaign: Sendable {
    package struct Report: Sendable {
        package var seeds = 0
        package var steps: UInt64 = 0
        package var commits = 0
        package var answers = 0
        package var silences = 0
        package var markers = 0
        package var waits = 0
        package var seconds = 0.0
        /// The number of faults by kind.
        package var faults: [String: Int] = [:]
        /// The failures in the order of their seeds.
        package var failures: [World.Failure] = []

        package var summary: String {
            let perSecond = String(format: "%.1f", Double(seeds) / max(seconds, 0.001))
            return """
                simulation: \(seeds) seeds, \(failures.count) failed, \(steps) steps, \(commits) mutations, \
                \(answers) results delivered, \(silences) late answers reported, \(markers) markers passed, \
                \(waits) waits answered, \
                \(String(format: "%.0f", seconds)) s, \(perSecond) seeds/s
                """
        }

        /// The kinds of fault in one line with their counts, the most frequent first.
        package var faultSummary: String {
            let sorted = faults.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            return "faults: " + sorted.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        }
    }

    private let seeds: ClosedRange<UInt64>
    private let jobs: Int
    private let failuresMax: Int

    /// - Parameter jobs: the number of concurrent seeds; 0: one per core.
    package init(seeds: ClosedRange<UInt64>, jobs: Int, failuresMax: Int) {
        self.seeds = seeds
        self.jobs = jobs > 0 ? jobs : ProcessInfo.processInfo.activeProcessorCount
        self.failuresMax = failuresMax
    }

    /// - Parameter progress: called with a line from time to time.
    package func run(progress: @escaping @Sendable (String) -> Void) -> Report {
        let start = ContinuousClock.now
        let state = Mutex((next: seeds.lowerBound, report: Report()))
        @Sendable func seconds() -> Double { (ContinuousClock.now - start) / .seconds(1) }
        DispatchQueue.concurrentPerform(iterations: jobs) { _ in
            while true {
                let seed: UInt64? = state.withLock { state in
                    guard state.next <= seeds.upperBound, state.report.failures.count < failuresMax else { return nil }
                    state.next += 1
                    return state.next - 1
                }
                guard let seed else { return }
                let outcome = World.outcome(seed: seed)
                let line = state.withLock { state -> String? in
                    state.report.seeds += 1
                    state.report.steps += outcome.steps
                    state.report.commits += outcome.commits
                    state.report.answers += outcome.answers
                    state.report.silences += outcome.silences
                    state.report.markers += outcome.markers
                    state.report.waits += outcome.waits
                    state.report.faults.merge(outcome.faults, uniquingKeysWith: +)
                    state.report.seconds = seconds()
                    if let violation = outcome.violation {
                        state.report.failures.append(World.Failure(seed: seed, violation: violation))
                    }
                    return state.report.seeds % 20 == 0 ? state.report.summary : nil
                }
                if let line { progress(line) }
            }
        }
        return state.withLock { state in
            state.report.failures.sort { $0.seed < $1.seed }
            return state.report
        }
    }
}
