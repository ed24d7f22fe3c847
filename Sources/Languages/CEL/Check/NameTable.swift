/// The names of an environment and how a name in a source finds them (langdef "Name Resolution"): the container's
/// namespaces from the innermost outwards, then the root; a leading dot means the root only.
struct NameTable: Sendable {
    let variableIndices: [String: Int]
    let functionIndices: [String: Int]
    /// The container and each of its prefixes followed by a dot, longest first; last the empty one.
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

    /// What a name without a local meaning denotes.
    enum Denotation {
        case variable(Int)
        case type(String)
    }

    /// A variable, or a type used as a value.
    func denotation(of name: String, isAbsolute: Bool) -> Denotation? {
        for namespace in isAbsolute ? [""] : namespaces {
            let candidate = namespace + name
            if let index = variableIndices[candidate] { return .variable(index) }
            if Value.typeNames.contains(candidate) { return .type(candidate) }
        }
        return nil
    }

    /// A function as the source may name it.
    enum Function {
        case declared(Int)
        case standard(String)
    }

    /// A declared function hides a standard one of the same name.
    func function(named name: String, isAbsolute: Bool) -> Function? {
        for namespace in isAbsolute ? [""] : namespaces {
            let candidate = namespace + name
            if let index = functionIndices[candidate] { return .declared(index) }
            if StandardDeclarations.overloads[candidate] != nil { return .standard(candidate) }
        }
        return nil
    }
}

/// A chain of selections from a name, `a.b.c`: the only shape in which a dot may also be part of a name.
struct QualifiedName {
    var isAbsolute: Bool
    /// At least one.
    var parts: [String]

    /// Nil when the expression is not such a chain.
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
