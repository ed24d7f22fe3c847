/// One instruction of a compiled pattern. Targets are indices in the program.
enum PatternInstruction: Sendable {
    case scalar(UInt32)
    case set(Int)
    case assertion(PatternAssertion)
    /// Continues at both targets.
    case fork(Int, Int)
    case jump(Int)
    case match
}

/// Compiles a pattern's tree into instructions (Thompson's construction). Counted repetitions are unrolled, so the size
/// of the program is limited, as is the work for parts that emit nothing.
struct PatternCompiler {
    private(set) var program: [PatternInstruction] = []
    private(set) var sets: [ScalarSet] = []
    private let sizeMax: Int
    private var steps = 0

    init(sizeMax: Int) {
        self.sizeMax = sizeMax
    }

    mutating func compile(_ node: PatternNode) throws(Pattern.Problem) {
        try emit(node)
        try append(.match)
    }

    private mutating func append(_ instruction: PatternInstruction) throws(Pattern.Problem) {
        guard program.count < sizeMax else { throw Pattern.Problem("too large") }
        program.append(instruction)
    }

    private mutating func emit(_ node: PatternNode) throws(Pattern.Problem) {
        steps += 1
        guard steps <= 4 * sizeMax else { throw Pattern.Problem("too large") }
        switch node {
        case .empty: break
        case .set(let set):
            if let scalar = set.onlyScalar {
                try append(.scalar(scalar))
            } else {
                sets.append(set)
                try append(.set(sets.count - 1))
            }
        case .assertion(let assertion): try append(.assertion(assertion))
        case .sequence(let parts):
            for part in parts { try emit(part) }
        case .alternatives(let alternatives): try emit(alternatives: alternatives)
        case .repetition(let part, let min, let max):
            for _ in 0..<min { try emit(part) }
            if let max {
                try emit(part, atMost: max - min)
            } else {
                try emitLoop(part)
            }
        }
    }

    private mutating func emit(alternatives: [PatternNode]) throws(Pattern.Problem) {
        var exits: [Int] = []
        for (position, alternative) in alternatives.enumerated() {
            let isLast = position == alternatives.count - 1
            let fork = program.count
            if !isLast { try append(.fork(fork + 1, 0)) }
            try emit(alternative)
            guard !isLast else { break }
            exits.append(program.count)
            try append(.jump(0))
            program[fork] = .fork(fork + 1, program.count)
        }
        for exit in exits { program[exit] = .jump(program.count) }
    }

    private mutating func emit(_ part: PatternNode, atMost count: Int) throws(Pattern.Problem) {
        var forks: [Int] = []
        for _ in 0..<count {
            forks.append(program.count)
            try append(.fork(program.count + 1, 0))
            try emit(part)
        }
        for fork in forks { program[fork] = .fork(fork + 1, program.count) }
    }

    private mutating func emitLoop(_ part: PatternNode) throws(Pattern.Problem) {
        let fork = program.count
        try append(.fork(fork + 1, 0))
        try emit(part)
        try append(.jump(fork))
        program[fork] = .fork(fork + 1, program.count)
    }
}
