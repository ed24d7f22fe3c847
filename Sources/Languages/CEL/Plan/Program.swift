/// A compiled expression. Immutable and independent of its environment; may be evaluated concurrently.
package struct Program: Sendable {
    /// The text of the whole expression, or of a conjunct.
    package let source: String
    /// The deduced type; `dyn` if unchecked.
    package let resultType: CELType
    /// The attributes that the program may read, sorted, without duplicates.
    package let attributes: [AttributePath]

    let plan: Plan
    let root: NodeIndex

    /// Evaluates the program. The environment's limits bound the work; error offsets refer to the whole expression.
    package func evaluate(_ activation: some Activation) throws(EvaluationError) -> Value {
        var frame = Frame(plan: plan)
        return try plan.evaluate(root, activation, &frame)
    }

    /// The operands of the outermost `&&`, in order; without one, the program itself.
    package var conjuncts: [Conjunct] {
        plan.conjuncts.isEmpty || root != plan.root
            ? [Conjunct(kind: .other, program: self)]
            : plan.conjuncts.map { part in
                Conjunct(
                    kind: part.kind,
                    program: Program(
                        source: part.source, resultType: resultType, attributes: part.attributes, plan: plan,
                        root: part.root))
            }
    }
}

/// One operand of the outermost `&&` of a program.
package struct Conjunct: Sendable {
    package enum Kind: Sendable {
        /// `a.b == c.d`: true exactly when both are readable and equal (see `EqualityKey`).
        case attributesEqual(AttributePath, AttributePath)
        /// `a.b == 'text'`, or with the operands swapped.
        case attributeEqualsConstant(AttributePath, Value)
        case other
    }

    package let kind: Kind
    /// The program of this operand alone.
    package let program: Program
}

/// Reads one attribute as a program would.
package struct AttributeReader: Sendable {
    private let path: PlannedPath

    init(_ path: PlannedPath) {
        self.path = path
    }

    /// Returns the value, null below a null-safe path that is null, or throws the error that a program would.
    package func value(in activation: some Activation) throws(EvaluationError) -> Value {
        try path.read(activation)
    }
}
