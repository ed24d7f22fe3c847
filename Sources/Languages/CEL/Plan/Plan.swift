/// An index in `Plan.nodes`.
typealias NodeIndex = Int32

/// One node of a plan. The meaning of `a`, `b` and `c` depends on the operation. Plain data, so that evaluation touches
/// no reference counts.
struct PlanNode: Sendable {
    let operation: Operation
    var a: Int32 = 0
    var b: Int32 = 0
    var c: Int32 = 0
    /// UTF-8 byte offset in the source.
    let offset: Int32

    enum Operation: UInt8, Sendable {
        /// `constants[a]`
        case constant
        /// `paths[a]`
        case attribute
        /// `has()` of `paths[a]`
        case attributePresence
        /// The macro variable in slot `a`
        case local
        /// Field `keys[b]` of node `a`; null of null if `c` is 1
        case select
        /// Whether node `a` has field `keys[b]`; false for null if `c` is 1
        case presence
        /// Element of node `a` at index node `b`; null of null if `c` is 1
        case index
        /// Condition node `a`, then node `b` or `c`
        case conditional
        /// `b` operands from `children[a]`
        case and, or
        /// `b` elements from `children[a]`
        case list
        /// `b` entries from `children[a]`, alternating keys and values
        case map
        /// Range node `a`, slot `b`, predicate and transform at `children[c]` (-1 for none)
        case all, exists, existsOne, mapping, filter
        /// Operand node `a`
        case not, negate
        /// Operand nodes `a` and `b`
        case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual, contained
        case add, subtract, multiply, divide, remainder
        /// Standard function `a` with `c` arguments from `children[b]`
        case standardCall
        /// Node `a` matched against `patterns[b]`
        case matches
        /// Declared function `functions[a]` with `c` arguments from `children[b]`
        case declaredCall
        /// Field `keys[b]` of node `a` as an optional; none of null if `c` is 1
        case optionalSelect
        /// Element of node `a` at index node `b` as an optional; none of null if `c` is 1
        case optionalIndex
        /// The content of the optional node `a`, omitted if none; only in lists and as values of maps
        case splice
        /// Stores node `a` in slot `b`, then evaluates node `c`
        case bind
        /// Stores the content of node `a` in slot `b`, then evaluates node `c`; its result is wrapped or already
        /// optional
        case optionalMap, optionalFlatMap
        /// Throws the error `failures[a]`
        case failure
    }
}

/// A program in executable form: a tree stored in arrays, with names, functions, paths and constants resolved.
final class Plan: Sendable {
    /// One operand of the outermost `&&`.
    struct Part: Sendable {
        let root: NodeIndex
        let source: String
        let attributes: [AttributePath]
        let kind: Conjunct.Kind
    }

    let nodes: [PlanNode]
    let children: [NodeIndex]
    let constants: [Value]
    let paths: [PlannedPath]
    let keys: [String]
    let patterns: [Pattern]
    let functions: [FunctionDeclaration.BoundedImplementation]
    let failures: [EvaluationError.Code]
    let root: NodeIndex
    let localCount: Int
    let conjuncts: [Part]
    let limits: Limits

    init(builder: PlanBuilder, root: NodeIndex, conjuncts: [Part], limits: Limits) {
        nodes = builder.nodes
        children = builder.children
        constants = builder.constants
        paths = builder.paths
        keys = builder.keys
        patterns = builder.patterns
        functions = builder.functions
        failures = builder.failures
        localCount = builder.localCount
        self.root = root
        self.conjuncts = conjuncts
        self.limits = limits
    }
}

/// Collects the arrays of a plan.
struct PlanBuilder {
    private(set) var nodes: [PlanNode] = []
    private(set) var children: [NodeIndex] = []
    private(set) var constants: [Value] = []
    private(set) var paths: [PlannedPath] = []
    private(set) var keys: [String] = []
    private(set) var patterns: [Pattern] = []
    private(set) var functions: [FunctionDeclaration.BoundedImplementation] = []
    private(set) var failures: [EvaluationError.Code] = []
    var localCount = 0

    mutating func add(
        _ operation: PlanNode.Operation, _ a: Int32 = 0, _ b: Int32 = 0, _ c: Int32 = 0, at expression: Expression
    ) -> NodeIndex {
        nodes.append(PlanNode(operation: operation, a: a, b: b, c: c, offset: Int32(expression.range.lowerBound)))
        return NodeIndex(nodes.count - 1)
    }

    /// Appends the children and returns the index of the first.
    mutating func add(children new: [NodeIndex]) -> Int32 {
        children.append(contentsOf: new)
        return Int32(children.count - new.count)
    }

    mutating func add(constant: Value) -> Int32 {
        constants.append(constant)
        return Int32(constants.count - 1)
    }

    mutating func add(path: PlannedPath) -> Int32 {
        paths.append(path)
        return Int32(paths.count - 1)
    }

    mutating func add(key: String) -> Int32 {
        keys.append(key)
        return Int32(keys.count - 1)
    }

    mutating func add(pattern: Pattern) -> Int32 {
        patterns.append(pattern)
        return Int32(patterns.count - 1)
    }

    mutating func add(function: @escaping FunctionDeclaration.BoundedImplementation) -> Int32 {
        functions.append(function)
        return Int32(functions.count - 1)
    }

    mutating func add(failure: EvaluationError.Code) -> Int32 {
        failures.append(failure)
        return Int32(failures.count - 1)
    }
}
