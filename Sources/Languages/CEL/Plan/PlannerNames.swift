// MARK: What names and selections denote

extension Planner {
    func isLocal(_ name: QualifiedName) -> Bool {
        !name.isAbsolute && locals.contains { $0.name == name.parts[0] }
    }

    func denotation(_ expression: Expression) -> NameTable.Denotation? {
        guard let name = QualifiedName(expression), !isLocal(name) else { return nil }
        return environment.names.denotation(of: name.text, isAbsolute: name.isAbsolute)
    }

    /// Returns the attribute path and variable index of an expression that only reads an attribute; otherwise nil.
    func draft(_ expression: Expression) -> (path: AttributePath, variable: Int)? {
        switch denotation(expression) {
        case .variable(let index):
            return (AttributePath(root: environment.variables[index].name, fields: []), index)
        case .type: return nil
        case nil: break
        }
        let operand: Expression
        let field: String
        switch expression.kind {
        case .select(let selected, let name, _): (operand, field) = (selected, name)
        case .call(Operator.index, target: nil, let arguments):
            guard arguments.count == 2, case .constant(.string(let name)) = arguments[1].kind else { return nil }
            (operand, field) = (arguments[0], name)
        default: return nil
        }
        guard let (path, variable) = draft(operand) else { return nil }
        return (AttributePath(root: path.root, fields: path.fields + [field]), variable)
    }

    func constant(_ expression: Expression) -> Value? {
        switch expression.kind {
        case .constant(let value): return value
        case .identifier("nil", isAbsolute: false) where isNilLiteral(expression): return .null
        default:
            if case .type(let name) = denotation(expression) { return .type(TypeValue(name: name)) }
            return nil
        }
    }

    func isNilLiteral(_ expression: Expression) -> Bool {
        guard environment.options.allowsNilLiteral, let name = QualifiedName(expression) else { return false }
        return !isLocal(name) && denotation(expression) == nil
    }

    func plannedPath(_ path: AttributePath, _ variable: Int, at expression: Expression) -> PlannedPath {
        PlannedPath(
            path: path, variable: variable, nullSafePaths: environment.options.nullSafePaths,
            offset: expression.range.lowerBound)
    }
}
