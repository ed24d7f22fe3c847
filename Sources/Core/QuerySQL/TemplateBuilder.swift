import Operations
import SchemaModel

/// Collects the operands and conditions of a statement and numbers the aliases of its tables.
struct TemplateBuilder {
    let schema: Schema
    /// The variables of the request that is rendered, if the text depends on their values.
    let bindings: Variables?
    let nullOperands: NullOperands
    /// The parts of the current filter that a null makes unknown.
    var unknown = Unknown()
    /// Whether the current filter is inside `_not`.
    var isNegated = false
    private var operands: [Operand] = []
    private var operandIndices: [String: Int] = [:]
    private var conditions: [Condition] = []
    private var aliasCount = 0

    struct Unknown {
        /// Conditions under which a test is unknown.
        var tests: [[Guard.Test]] = []
        /// A test for each computed value that may be null: that it is not.
        var values: [[Piece]] = []
    }

    /// How filters treat a variable that was sent as null. A variable that was not sent always drops its operator.
    enum NullOperands: Sendable {
        /// The test is left out, as for a variable that was not sent: a query returns more rows.
        case ignored
        /// `eq` and `ne` match rows without a value; other operators match nothing, so that a null never widens a
        /// write.
        case compared
    }

    init(schema: Schema, bindings: Variables? = nil, nullOperands: NullOperands = .ignored) {
        self.schema = schema
        self.bindings = bindings
        self.nullOperands = nullOperands
    }

    /// Returns the next alias: `t1`, `t2`, ….
    mutating func alias() -> String {
        aliasCount += 1
        return "t\(aliasCount)"
    }

    /// Returns a parameter, or a literal if the value is a constant of the operation.
    mutating func value(_ operand: Operand) -> Piece {
        if let constant = operand.constantSQL { return .text(constant) }
        return parameter(operand)
    }

    mutating func parameter(_ operand: Operand) -> Piece {
        .parameter(index(of: operand))
    }

    mutating func index(of operand: Operand) -> Int {
        let identity = operand.identity
        if let known = operandIndices[identity] { return known }
        operandIndices[identity] = operands.count
        operands.append(operand)
        return operands.count - 1
    }

    mutating func index(of condition: Condition) -> Int {
        if let known = conditions.firstIndex(of: condition) { return known }
        conditions.append(condition)
        return conditions.count - 1
    }

    /// Returns the pieces conditional on all of the conditions.
    mutating func when(_ required: [Condition], _ pieces: [Piece], otherwise: [Piece] = []) -> [Piece] {
        guard !required.isEmpty else { return pieces }
        let tests = required.map { Guard.Test(condition: index(of: $0), expected: true) }
        return [.when(Guard(alternatives: [tests]), then: pieces, otherwise: otherwise)]
    }

    /// Returns the pieces conditional on the field's inclusion.
    mutating func when(_ inclusion: Inclusion, _ pieces: [Piece]) -> [Piece] {
        if inclusion.isAlways { return pieces }
        let alternatives = inclusion.alternatives.map { tests in
            tests.map { Guard.Test(condition: index(of: .isTrue($0.variable)), expected: $0.expected) }
        }
        return [.when(Guard(alternatives: alternatives), then: pieces, otherwise: [])]
    }

    func finish(_ pieces: [Piece]) -> Template {
        Template(pieces: pieces.coalesced, operands: operands, conditions: conditions)
    }
}

extension [Piece] {
    static func text(_ text: String) -> [Piece] { [.text(text)] }

    /// The pieces with adjacent texts merged.
    fileprivate var coalesced: [Piece] {
        var result: [Piece] = []
        for piece in self {
            let inner: Piece =
                switch piece {
                case .when(let guarded, let then, let otherwise):
                    .when(guarded, then: then.coalesced, otherwise: otherwise.coalesced)
                case .joined(let items, let separator, let empty):
                    .joined(items.map(\.coalesced), separator: separator, empty: empty.coalesced)
                case .wrapped(let prefix, let pieces, let suffix): .wrapped(prefix, pieces.coalesced, suffix)
                case .required(let pieces): .required(pieces.coalesced)
                case .text, .parameter, .result: piece
                }
            if case .text(let text) = inner, case .text(let last)? = result.last {
                result[result.count - 1] = .text(last + text)
            } else {
                result.append(inner)
            }
        }
        return result
    }
}
