/// An attribute path bound to the index of its variable.
struct PlannedPath: Sendable {
    let path: AttributePath
    private let variable: Int
    /// Bit n is set if a null after n fields yields null for everything below it, instead of an error.
    private let nullSafeSteps: UInt64
    private let offset: Int

    init(path: AttributePath, variable: Int, nullSafePaths: [[String]], offset: Int) {
        self.path = path
        self.variable = variable
        self.offset = offset
        let rootParts = path.root.split(separator: ".").map(String.init)
        let parts = rootParts + path.fields
        var steps: UInt64 = 0
        for nullSafe in nullSafePaths where nullSafe.count >= rootParts.count && parts.starts(with: nullSafe) {
            steps |= 1 << UInt64(nullSafe.count - rootParts.count)
        }
        nullSafeSteps = steps
    }

    /// Whether the path is at or below one that may be null.
    var isNullSafe: Bool { nullSafeSteps != 0 }

    func read<A: Activation>(_ activation: A) throws(EvaluationError) -> Value {
        guard var value = activation.value(ofVariable: variable) else { throw error(.noSuchAttribute) }
        let fields = path.fields
        for step in 0..<fields.count {
            switch value {
            case .map(let map):
                guard let next = map[fields[step]] else { throw error(.noSuchKey) }
                value = next
            case .null where isNullSafe(step): return .null
            default: throw error(.noSuchOverload)
            }
        }
        return value
    }

    /// Evaluates `has()` on the path, which has at least one field: returns whether the last field exists. Earlier
    /// fields must exist.
    func isPresent<A: Activation>(_ activation: A) throws(EvaluationError) -> Bool {
        guard var value = activation.value(ofVariable: variable) else { throw error(.noSuchAttribute) }
        let last = path.fields.count - 1
        for step in path.fields.indices {
            switch value {
            case .map(let map):
                if step == last { return map[path.fields[step]] != nil }
                guard let next = map[path.fields[step]] else { throw error(.noSuchKey) }
                value = next
            case .null where isNullSafe(step): return false
            default: throw error(.noSuchOverload)
            }
        }
        return true
    }

    private func isNullSafe(_ step: Int) -> Bool {
        step < UInt64.bitWidth && nullSafeSteps & (1 << UInt64(step)) != 0
    }

    private func error(_ code: EvaluationError.Code) -> EvaluationError {
        EvaluationError(code, offset: offset)
    }
}
