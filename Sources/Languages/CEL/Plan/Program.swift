/// A compiled expression. Immutable and free of references to its environment; evaluations may run concurrently.
package struct Program: Sendable {
    /// The text of the whole expression, or of the part that a conjunct covers.
    package let source: String
    /// The deduced type; `dyn` when unchecked.
    package let resultType: CELType
    /// Everything that the program may read, sorted, without duplicates.
    package let attributes: [AttributePath]

    let plan: Plan
    let root: NodeIndex

    /// Evaluates once. Work is bounded by the limits of the environment; errors carry offsets into the source of the
    /// whole expression.
    package func evaluate(_ activation: some Activation) throws(EvaluationError) -> Value {
        var frame = Frame(plan: plan)
        return try plan.evaluate(root, activation, &frame)
    }

    /// The operands of the outermost `&&`, in order; the program itself as the only one when there is none.
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
        /// `a.b == c.d`: holds exactly when both are readable and equal, see `EqualityKey`.
        case attributesEqual(AttributePath, AttributePath)
        /// `a.b == 'text'`, or the other way round.
        case attributeEqualsConstant(AttributePath, Value)
        case other
    }

    package let kind: Kind
    /// Evaluates this operand alone.
    package let program: Program
}

/// Reads one attribute as a program would.
package struct AttributeReader: Sendable {
    private let path: PlannedPath

    init(_ path: PlannedPath) {
        self.path = path
    }

    /// The value, null below a null-safe path that is null, or the error that a program reading it would meet.
    package func value(in activation: some Activation) throws(EvaluationError) -> Value {
        try path.read(activation)
    }
}
