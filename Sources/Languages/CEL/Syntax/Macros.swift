extension Parser {
    /// Expands the macro call `range.name(arguments)` (langdef "Macros"). Returns nil for another number of arguments,
    /// which makes it a function call.
    static func expand(
        _ macro: Expression.Comprehension.Macro, over range: Expression, _ arguments: [Expression]
    ) throws(SyntaxProblem) -> Expression.Comprehension? {
        let hasCondition = macro == .map && arguments.count == 3
        guard arguments.count == 2 || hasCondition else { return nil }
        guard case .identifier(let variable, isAbsolute: false) = arguments[0].kind else {
            throw SyntaxProblem(
                message: .macroNeedsVariable(macro.rawValue), offset: arguments[0].range.lowerBound)
        }
        let isMap = macro == .map
        return Expression.Comprehension(
            macro: macro, range: range, variable: variable,
            predicate: isMap ? (hasCondition ? arguments[1] : nil) : arguments[1],
            transform: isMap ? arguments.last : nil)
    }
}
