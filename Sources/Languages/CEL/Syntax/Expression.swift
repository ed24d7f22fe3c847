/// A node of the parsed tree. Operators are calls of functions with names like `_+_` (langdef "Functions"); macros are
/// already expanded to `presence` and `comprehension`.
struct Expression: Sendable {
    /// Unique within the tree, from 0.
    let id: Int
    /// UTF-8 byte offsets of the node's text, without enclosing parentheses.
    let range: Range<Int>
    /// 1 for a leaf.
    let depth: Int
    let kind: Kind
    /// Whether the node is in parentheses, which end a qualified name: in `(a.b).c` the name is `a.b`.
    var isGrouped = false

    indirect enum Kind: Sendable {
        case constant(Value)
        case identifier(String, isAbsolute: Bool)
        case select(Expression, field: String, isQuoted: Bool)
        /// `has(operand.field)`
        case presence(Expression, field: String)
        case call(String, target: Expression?, arguments: [Expression])
        /// At least two operands of a chain of `&&` or `||`.
        case logic(Logic, [Expression])
        case list([Expression])
        case map([Entry])
        /// `Name{…}`, which is not supported: there are no protocol buffer messages.
        case message(String)
        case comprehension(Comprehension)
        /// `operand.?field`
        case optionalSelect(Expression, field: String)
        /// `?operand` in a list or as a map value; omitted if the operand is none.
        case splice(Expression)
        /// `cel.bind(variable, value, body)`
        case bind(String, Expression, Expression)
        /// `operand.optMap(variable, body)` and `operand.optFlatMap(variable, body)`
        case optionalMap(Expression, String, Expression, isFlat: Bool)
    }

    enum Logic: Sendable {
        case and
        case or
    }

    struct Entry: Sendable {
        let key: Expression
        let value: Expression
    }

    struct Comprehension: Sendable {
        enum Macro: String, Sendable {
            case all
            case exists
            case existsOne = "exists_one"
            case map
            case filter
        }

        let macro: Macro
        let range: Expression
        let variable: String
        /// Nil only for `map` without a condition.
        let predicate: Expression?
        /// Only set for `map`.
        let transform: Expression?
    }
}

/// The function names of operators.
enum Operator {
    static let conditional = "_?_:_"
    static let not = "!_"
    static let negate = "-_"
    static let index = "_[_]"
    static let optionalIndex = "_[?_]"
    static let contained = "@in"
    static let equal = "_==_"
    static let notEqual = "_!=_"
    static let less = "_<_"
    static let lessOrEqual = "_<=_"
    static let greater = "_>_"
    static let greaterOrEqual = "_>=_"
    static let add = "_+_"
    static let subtract = "_-_"
    static let multiply = "_*_"
    static let divide = "_/_"
    static let remainder = "_%_"
}
