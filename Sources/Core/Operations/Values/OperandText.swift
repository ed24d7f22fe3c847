import JSON

extension Operand.Source {
    /// For people.
    package var words: String {
        switch self {
        case .constant(let value): value.description
        case .variable(let name, let path): "$" + ([name] + path).joined(separator: ".")
        case .firstGiven(let name, let paths): "$" + ([name] + (paths.first ?? [])).joined(separator: ".")
        case .expression(let program): "{\(program.text)}"
        case .freshUUID: "{uuidV4()}"
        case .relativeVariable(let name, _): "$\(name)"
        case .relative(let time): time.isDate ? "a date counted from today" : "a time counted from now"
        case .list(let elements): "[\(elements.map(\.words).joined(separator: ", "))]"
        case .embedding(let source): "the vector of \(source.text.words) by \(source.model)"
        }
    }
}
