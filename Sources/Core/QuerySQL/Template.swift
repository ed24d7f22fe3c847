import Operations
import SchemaModel

/// A part of a statement whose shape is not yet known.
///
/// A stored operation is rendered to SQL once, at compile time, except where the text depends on a request: an operator
/// whose variable was not sent is dropped from the filter, `@include` adds a field, a `_Data` variable sets a subset of
/// columns. Such parts are `when` pieces over numbered conditions. The values of all conditions form a bit set, the
/// `ShapeKey`. A statement is rendered at the first request of its shape and cached. After that, a request costs the
/// evaluation of the conditions, one lookup, and the values of its parameters.
///
///     novels(where: {genre: {eq: $genre}})     conditions: [0: notNull genre]
///
///     … FROM "novel" t1 ‹when 0: WHERE t1."genre" = ‹parameter 0›› …
indirect enum Piece: Sendable {
    case text(String)
    /// An index in `Template.operands`.
    case parameter(Int)
    case when(Guard, then: [Piece], otherwise: [Piece])
    /// The non-empty items with a separator; `empty` if there are none.
    case joined([[Piece]], separator: String, empty: [Piece])
    /// Renders to nothing if its content is empty.
    case wrapped(String, [Piece], String)
    /// Must not be empty: otherwise, the statement of this shape must not run.
    case required([Piece])
    /// Renders to nothing. Between the common table expressions of a statement and the `SELECT` of its result; only at
    /// the top level.
    case result
}

/// A disjunction of alternatives, each of which requires all its tests to hold.
struct Guard: Sendable, Hashable {
    struct Test: Sendable, Hashable {
        /// An index in `Template.conditions`.
        let condition: Int
        let expected: Bool
    }

    var alternatives: [[Test]]

    func holds(in shape: ShapeKey) -> Bool {
        alternatives.contains { $0.allSatisfy { shape[$0.condition] == $0.expected } }
    }
}

/// The values of a template's conditions, one bit each.
struct ShapeKey: Hashable, Sendable {
    private var first: UInt64 = 0
    /// Conditions from 64 on; empty for nearly all operations.
    private var rest: [UInt64] = []

    init() {}

    init(count: Int) {
        if count > 64 { rest = Array(repeating: 0, count: (count - 1) / 64) }
    }

    subscript(index: Int) -> Bool {
        get {
            index < 64 ? first >> UInt64(index) & 1 == 1 : rest[index / 64 - 1] >> UInt64(index % 64) & 1 == 1
        }
        set {
            let bit: UInt64 = 1 << UInt64(index % 64)
            if index < 64 {
                first = newValue ? first | bit : first & ~bit
            } else {
                rest[index / 64 - 1] = newValue ? rest[index / 64 - 1] | bit : rest[index / 64 - 1] & ~bit
            }
        }
    }
}

/// A statement whose text is rendered per shape.
struct Template: Sendable {
    var pieces: [Piece]
    var operands: [Operand]
    var conditions: [Condition]

    /// Evaluates the conditions for a request.
    func shape(of variables: Variables) -> ShapeKey {
        var key = ShapeKey(count: conditions.count)
        for (index, condition) in conditions.enumerated() where variables.satisfies(condition) {
            key[index] = true
        }
        return key
    }

    /// Renders the text of one shape.
    /// - Parameter reference: renders a reference to a parameter from its position (from 0) and type.
    func render(_ shape: ShapeKey, reference: @escaping (Int, SQLType) -> String) -> RenderedTemplate {
        var rendering = Rendering(template: self, shape: shape, reference: reference)
        let text = rendering.text(of: pieces)
        return RenderedTemplate(
            mutation: MutationStatement(text, resultOffset: rendering.resultOffset), operands: rendering.order,
            isRefused: rendering.isRefused)
    }
}

/// A statement rendered for one shape.
struct RenderedTemplate: Sendable {
    let mutation: MutationStatement
    var text: String { mutation.sql }
    /// Operands in the order of the parameters.
    let operands: [Int]
    /// Whether a required part is empty, so that the statement must not run.
    let isRefused: Bool
}

private struct Rendering {
    let template: Template
    let shape: ShapeKey
    let reference: (Int, SQLType) -> String
    var order: [Int] = []
    var isRefused = false
    /// The place of `Piece.result`, in bytes.
    var resultOffset: Int?

    init(template: Template, shape: ShapeKey, reference: @escaping (Int, SQLType) -> String) {
        self.template = template
        self.shape = shape
        self.reference = reference
    }

    mutating func text(of pieces: [Piece]) -> String {
        var text = ""
        for piece in pieces {
            switch piece {
            case .text(let part): text += part
            case .parameter(let operand): text += reference(to: operand)
            case .when(let condition, let then, let otherwise):
                text += self.text(of: condition.holds(in: shape) ? then : otherwise)
            case .joined(let items, let separator, let empty):
                let parts = items.map { self.text(of: $0) }.filter { !$0.isEmpty }
                text += parts.isEmpty ? self.text(of: empty) : parts.joined(separator: separator)
            case .wrapped(let prefix, let inner, let suffix):
                let content = self.text(of: inner)
                if !content.isEmpty { text += prefix + content + suffix }
            case .required(let inner):
                let content = self.text(of: inner)
                if content.isEmpty { isRefused = true }
                text += content
            case .result: resultOffset = text.utf8.count
            }
        }
        return text
    }

    private mutating func reference(to operand: Int) -> String {
        let position: Int
        if let known = order.firstIndex(of: operand) {
            position = known
        } else {
            position = order.count
            order.append(operand)
        }
        return reference(position, template.operands[operand].sqlType)
    }
}
