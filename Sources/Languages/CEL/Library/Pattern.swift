/// A compiled regular expression that tests whether it matches anywhere in a text.
///
/// It simulates all alternatives in parallel, one scalar at a time, so a match takes time proportional to the length of
/// the text times the size of the program: no pattern backtracks.
struct Pattern: Sendable {
    struct Problem: Error {
        let reason: String

        init(_ reason: String) {
            self.reason = reason
        }
    }

    private let program: [PatternInstruction]
    private let sets: [ScalarSet]

    init(_ text: String, limits: Limits) throws(Problem) {
        guard text.utf8.count <= limits.patternBytesMax else { throw Problem("too long") }
        var compiler = PatternCompiler(sizeMax: limits.patternProgramMax)
        try compiler.compile(PatternParser.parse(text))
        program = compiler.program
        sets = compiler.sets
    }

    /// The instructions that wait for the next scalar, each at most once.
    private struct Threads {
        var waiting: [Int] = []
        /// The round in which each instruction was last added.
        var rounds: [Int]
    }

    func isFound(in text: String, _ budget: inout Budget) throws(EvaluationError) -> Bool {
        var threads = Threads(rounds: Array(repeating: -1, count: program.count))
        var stack: [Int] = []
        var previous: Unicode.Scalar?
        var iterator = text.unicodeScalars.makeIterator()
        var next = iterator.next()
        var round = 0
        if add(0, to: &threads, &stack, round, previous, next) { return true }
        while let scalar = next {
            try budget.charge(1 + threads.waiting.count / 8)
            next = iterator.next()
            previous = scalar
            round += 1
            let current = threads.waiting
            threads.waiting.removeAll(keepingCapacity: true)
            for instruction in current where accepts(scalar, at: instruction) {
                if add(instruction + 1, to: &threads, &stack, round, previous, next) { return true }
            }
            if add(0, to: &threads, &stack, round, previous, next) { return true }
        }
        return false
    }

    private func accepts(_ scalar: Unicode.Scalar, at position: Int) -> Bool {
        switch program[position] {
        case .scalar(let value): scalar.value == value
        case .set(let index): sets[index].contains(scalar)
        case .assertion, .fork, .jump, .match: false
        }
    }

    /// Follows all instructions that consume no scalar, starting at `start`; returns true if the pattern has matched.
    private func add(
        _ start: Int, to threads: inout Threads, _ stack: inout [Int], _ round: Int, _ previous: Unicode.Scalar?,
        _ next: Unicode.Scalar?
    ) -> Bool {
        stack.removeAll(keepingCapacity: true)
        stack.append(start)
        while let position = stack.popLast() {
            guard threads.rounds[position] != round else { continue }
            threads.rounds[position] = round
            switch program[position] {
            case .match: return true
            case .jump(let target): stack.append(target)
            case .fork(let first, let second):
                stack.append(second)
                stack.append(first)
            case .assertion(let assertion):
                if Self.holds(assertion, previous, next) { stack.append(position + 1) }
            case .scalar, .set: threads.waiting.append(position)
            }
        }
        return false
    }

    private static func holds(
        _ assertion: PatternAssertion, _ previous: Unicode.Scalar?, _ next: Unicode.Scalar?
    ) -> Bool {
        func isWord(_ scalar: Unicode.Scalar?) -> Bool { scalar.map(ScalarSet.word.contains) ?? false }
        return switch assertion {
        case .textStart: previous == nil
        case .textEnd: next == nil
        case .lineStart: previous == nil || previous == "\n"
        case .lineEnd: next == nil || next == "\n"
        case .wordBoundary: isWord(previous) != isWord(next)
        case .noWordBoundary: isWord(previous) == isWord(next)
        }
    }
}
