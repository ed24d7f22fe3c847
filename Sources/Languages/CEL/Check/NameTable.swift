/// Looks up the names of an environment (langdef "Name Resolution"): tries the container's namespaces from the
/// innermost outwards, then the root. A leading dot restricts the lookup to the root.
struct NameTable: Sendable {
    let variableIndices: [String: Int]
    let functionIndices: [String: Int]
    /// The container and each of its prefixes, each followed by a dot, longest first; the last one is empty.
    private let namespaces: [String]

    init(container: String, variables: [VariableDeclaration], functions: [FunctionDeclaration]) {
        variableIndices = Dictionary(
            variables.enumerated().map { ($0.element.name, $0.offset) }, uniquingKeysWith: { first, _ in first })
        functionIndices = Dictionary(
            functions.enumerated().map { ($0.element.name, $0.offset) }, uniquingKeysWith: { first, _ in first })
        var parts = container.split(separator: ".")
        var namespaces: [String] = []
        while !parts.isEmpty {
            namespaces.append(parts.joined(separator: ".") + ".")
            parts.removeLast()
        }
        self.namespaces = namespaces + [""]
    }

    /// The meaning of a name that is not a local variable.
    enum Denotation {
        case variable(Int)
        case type(String)
    }

    /// Returns the variable that the name denotes, or the type if it names one.
    func denotation(of name: String, isAbsolute: Bool) -> Denotation? {
        for namespace in isAbsolute ? [""] : namespaces {
            let candidate = namespace + name
            if let index = variableIndices[candidate] { return .variable(index) }
            if Value.typeNames.contains(candidate) { return .type(candidate) }
        }
        return nil
    }

    /// A function found by its name.
    enum Function {
        case declared(Int)
        case standard(String)
    }

    /// Returns the function with this name; a declared function shadows a standard one.
    func function(named name: String, isAbsolute: Bool) -> Function? {
        for namespace in isAbsolute ? [""] : namespaces {
            let candidate = namespace + name
            if let index = functionIndices[candidate] { return .declared(index) }
            if StandardDeclarations.overloads[candidate] != nil { return .standard(candidate) }
        }
        return nil
    }
}

/// A chain of selections from a name, such as `a.b.c`: the only form in which a dot may also be part of a name.
struct QualifiedName {
    var isAbsolute: Bool
    /// Never empty.
    var parts: [String]

    /// Returns nil if the expression is not such a chain.
    init?(_ expression: Expression) {
        var parts: [String] = []
        var current = expression
        while true {
            switch current.kind {
            case .select(let operand, let field, isQuoted: false):
                guard !operand.isGrouped else { return nil }
                parts.append(field)
                current = operand
            case .identifier(let name, let isAbsolute):
                parts.append(name)
                self.isAbsolute = isAbsolute
                self.parts = parts.reversed()
                return
            default:
                return nil
            }
        }
    }

    var text: String { parts.joined(separator: ".") }
}
