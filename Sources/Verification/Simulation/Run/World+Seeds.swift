extension World {
    /// A seed and the promise that it broke.
    package struct Failure: Sendable {
        package let seed: UInt64
        package let violation: String

        package init(seed: UInt64, violation: String) {
            self.seed = seed
            self.violation = violation
        }
    }

    /// Runs one seed.
    package static func outcome(seed: UInt64, sabotage: Sabotage? = nil) -> Outcome {
        do {
            return try World(seed: seed, sabotage: sabotage).run()
        } catch {
            return Outcome(
                violation: "the world could not be made: \(error)", steps: 0, commits: 0, answers: 0, silences: 0)
        }
    }

    /// Returns the first seed under which the mistake is noticed.
    package static func firstNoticed(_ sabotage: Sabotage, seeds: ClosedRange<UInt64>) -> Failure? {
        for seed in seeds {
            if let violation = outcome(seed: seed, sabotage: sabotage).violation {
                return Failure(seed: seed, violation: violation)
            }
        }
        return nil
    }

    /// Runs one seed and reports a line per event.
    package static func trace(_ seed: UInt64, _ sabotage: Sabotage? = nil, _ line: @escaping (String) -> Void) throws {
        let outcome = try World(seed: seed, sabotage: sabotage, trace: line).run()
        line(outcome.violation ?? "all is well")
    }
}
