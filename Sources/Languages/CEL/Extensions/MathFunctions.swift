/// `math.greatest`, `math.least`, rounding, signs, tests on doubles, and bitwise operations.
enum MathFunctions {
    static let all: [FunctionDeclaration] =
        [extreme("greatest", .descending), extreme("least", .ascending)]
        + [
            rounding("ceil") { $0.rounded(.up) }, rounding("floor") { $0.rounded(.down) },
            rounding("round") { $0.rounded(.toNearestOrAwayFromZero) }, rounding("trunc") { $0.rounded(.towardZero) },
            test("isNaN") { $0.isNaN }, test("isInf") { $0.isInfinite }, test("isFinite") { $0.isFinite },
            sign, magnitude, root,
            bits("bitAnd", { $0 & $1 }, { $0 & $1 }), bits("bitOr", { $0 | $1 }, { $0 | $1 }),
            bits("bitXor", { $0 ^ $1 }, { $0 ^ $1 }), not,
            shift("bitShiftLeft") { $1 >= 64 ? 0 : $0 << $1 }, shift("bitShiftRight") { $1 >= 64 ? 0 : $0 >> $1 },
        ]

    private static let numbers: [CELType] = [.int, .uint, .double]
    /// The most arguments that `greatest` and `least` accept; longer sequences must be passed as a list.
    private static let argumentsMax = 16

    private static func extreme(_ name: String, _ expected: Order) -> FunctionDeclaration {
        var overloads = numbers.flatMap { type in
            [
                Extensions.function("math_@\(name)_\(type)", [type], type),
                Extensions.function("math_@\(name)_list_\(type)", [.list(type)], type),
            ]
        }
        for count in 2...argumentsMax {
            overloads.append(
                Extensions.function("math_@\(name)_\(count)", Array(repeating: .dyn, count: count), .dyn))
        }
        return FunctionDeclaration("math.\(name)", overloads) {
            (arguments, budget, limits) throws(EvaluationError) in
            var values = arguments
            if arguments.count == 1, case .list(let elements) = arguments[0] { values = elements }
            guard var best = values.first else { throw EvaluationError(.invalidArgument) }
            for value in values {
                try budget.charge(1)
                guard value.isNumber, let order = value.order(relativeTo: best) else {
                    throw EvaluationError(.noSuchOverload)
                }
                if order == expected { best = value }
            }
            return best
        }
    }

    private static func rounding(_ name: String, _ round: @escaping @Sendable (Double) -> Double) -> FunctionDeclaration
    {
        FunctionDeclaration("math.\(name)", [Extensions.function("math_\(name)_double", [.double], .double)]) {
            (arguments, _, _) throws(EvaluationError) in
            guard case .double(let value) = arguments[0] else { throw EvaluationError(.noSuchOverload) }
            return .double(round(value))
        }
    }

    private static func test(_ name: String, _ holds: @escaping @Sendable (Double) -> Bool) -> FunctionDeclaration {
        FunctionDeclaration("math.\(name)", [Extensions.function("math_\(name)_double", [.double], .bool)]) {
            (arguments, _, _) throws(EvaluationError) in
            guard case .double(let value) = arguments[0] else { throw EvaluationError(.noSuchOverload) }
            return .bool(holds(value))
        }
    }

    private static let sign = FunctionDeclaration(
        "math.sign", numbers.map { Extensions.function("math_sign_\($0)", [$0], $0) }
    ) { (arguments, _, _) throws(EvaluationError) in
        switch arguments[0] {
        case .int(let value): return .int(value.signum())
        case .uint(let value): return .uint(value == 0 ? 0 : 1)
        case .double(let value): return .double(value.isNaN || value == 0 ? value : value < 0 ? -1 : 1)
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    private static let magnitude = FunctionDeclaration(
        "math.abs", numbers.map { Extensions.function("math_abs_\($0)", [$0], $0) }
    ) { (arguments, _, _) throws(EvaluationError) in
        switch arguments[0] {
        case .int(let value):
            guard let positive = Int64(exactly: value.magnitude) else { throw EvaluationError(.overflow) }
            return .int(positive)
        case .uint: return arguments[0]
        case .double(let value): return .double(value.magnitude)
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    private static let root = FunctionDeclaration(
        "math.sqrt", numbers.map { Extensions.function("math_sqrt_\($0)", [$0], .double) }
    ) { (arguments, _, _) throws(EvaluationError) in
        switch arguments[0] {
        case .int(let value): return .double(Double(value).squareRoot())
        case .uint(let value): return .double(Double(value).squareRoot())
        case .double(let value): return .double(value.squareRoot())
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    private static func bits(
        _ name: String, _ signed: @escaping @Sendable (Int64, Int64) -> Int64,
        _ unsigned: @escaping @Sendable (UInt64, UInt64) -> UInt64
    ) -> FunctionDeclaration {
        let overloads = [CELType.int, .uint].map { Extensions.function("math_\(name)_\($0)", [$0, $0], $0) }
        return FunctionDeclaration("math.\(name)", overloads) { (arguments, _, _) throws(EvaluationError) in
            switch (arguments[0], arguments[1]) {
            case (.int(let left), .int(let right)): return .int(signed(left, right))
            case (.uint(let left), .uint(let right)): return .uint(unsigned(left, right))
            default: throw EvaluationError(.noSuchOverload)
            }
        }
    }

    private static let not = FunctionDeclaration(
        "math.bitNot", [CELType.int, .uint].map { Extensions.function("math_bitNot_\($0)", [$0], $0) }
    ) { (arguments, _, _) throws(EvaluationError) in
        switch arguments[0] {
        case .int(let value): return .int(~value)
        case .uint(let value): return .uint(~value)
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    /// Declares a logical shift: bits shifted out are lost, zeros come in, even for signed values.
    private static func shift(
        _ name: String, _ shift: @escaping @Sendable (UInt64, Int64) -> UInt64
    ) -> FunctionDeclaration {
        let overloads = [CELType.int, .uint].map { Extensions.function("math_\(name)_\($0)", [$0, .int], $0) }
        return FunctionDeclaration("math.\(name)", overloads) { (arguments, _, _) throws(EvaluationError) in
            let count = try arguments.int(1)
            guard count >= 0 else { throw EvaluationError(.invalidArgument) }
            switch arguments[0] {
            case .int(let value): return .int(Int64(bitPattern: shift(UInt64(bitPattern: value), count)))
            case .uint(let value): return .uint(shift(value, count))
            default: throw EvaluationError(.noSuchOverload)
            }
        }
    }
}

extension Value {
    fileprivate var isNumber: Bool {
        switch self {
        case .int, .uint, .double: true
        default: false
        }
    }
}
