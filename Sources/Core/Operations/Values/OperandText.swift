import JSON

extension Operand.Source {
    /// A description for people.
    package var words: String {
        switch self {
        case .constant(let value): value.description
        case .variable(let name, let path): "$" + ([name] + path).joined(separator: ".")
        case .firstGiven(let name, let paths): "$" + ([name] + (paths.first ?? [])).joined(separator: ".")
        case .expression(let program): "{\(program.text)}"
        case .freshUUID: "{uuidV4()}"
        case .relativeVariable(let name, _): "$\(name)"
        case .relative(let time): time.isDate ? "a date relative to today" : "a time relative to now"
        case .list(let elements): "[\(elements.map(\.words).joined(separator: ", "))]"
        case .object(let members): "{\(members.map { "\($0.name): \($0.value.words)" }.joined(separator: ", "))}"
        case .embedding(let source): "the embedding of \(source.text.words) by \(source.model)"
        }
    }
}
