import Operations
import SchemaModel

/// Numbers the operands and conditions of one statement and the aliases of its tables.
struct TemplateBuilder {
    let schema: Schema
    /// The variables of the request that is rendered for, when the text depends on the filter that a variable holds.
    let bindings: Variables?
    let nullOperands: NullOperands
    /// What of the filter so far a null makes unknown.
    var unknown = Unknown()
    /// Below a `_not`.
    var isNegated = false
    private var operands: [Operand] = []
    private var operandIndices: [String: Int] = [:]
    private var conditions: [Condition] = []
    private var aliasCount = 0

    struct Unknown {
        /// Each with when that is so.
        var tests: [[Guard.Test]] = []
        /// What an expression gives may be null; each a test that it is not.
        var values: [[Piece]] = []
    }

    /// What a filter makes of a variable that was sent as null. One that was not sent leaves its operator out always.
    enum NullOperands: Sendable {
        /// As if it had not been sent: a query asks for more.
        case leftOut
        /// By `eq` and `ne` with rows without a value; by others with none: a write must not reach further for a null.
        case compared
    }

    init(schema: Schema, bindings: Variables? = nil, nullOperands: NullOperands = .leftOut) {
        self.schema = schema
        self.bindings = bindings
        self.nullOperands = nullOperands
    }

    /// `t1`, `t2`, … in the order asked for.
    mutating func alias() -> String {
        aliasCount += 1
        return "t\(aliasCount)"
    }

    /// A parameter, or the text itself when the value is a constant of the operation.
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

    /// The pieces when all conditions hold.
    mutating func when(_ required: [Condition], _ pieces: [Piece], otherwise: [Piece] = []) -> [Piece] {
        guard !required.isEmpty else { return pieces }
        let tests = required.map { Guard.Test(condition: index(of: $0), expected: true) }
        return [.when(Guard(alternatives: [tests]), then: pieces, otherwise: otherwise)]
    }

    /// The pieces when the field takes part.
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

    /// Neighbouring texts made one.
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
                case .text, .parameter: piece
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
