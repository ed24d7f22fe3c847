import JSON
package import LiveModel
import SchemaModel

/// An embedding of a text, written `{model: …, text: …}` in place of a vector. Source: docs/reference/sql-connect.md
/// §5.4 and §5.6, `Vector_Embed`.
package struct EmbeddingSource: Sendable {
    /// The GraphQL name of the input type.
    package static let typeName = "Vector_Embed"

    /// The model's name, a literal in the operation.
    package let model: String
    /// A constant or a variable of type `String!`.
    package let text: Operand.Source
    /// The vector's dimensions; nil if the column's type leaves them open.
    package let size: Int?

    var identity: String { "embed(\(model)|\(text.identity)|\(size ?? 0))" }

    /// - Throws: `.invalidVariable` if the text is null because the client sent null instead of its default.
    package func embeddingText(in invocation: Invocation) throws(RequestError) -> EmbeddingText {
        guard let text = try text.value(as: ColumnType(.string), in: invocation).stringValue else {
            throw RequestError(
                .invalidVariable, "\(self.text.words) is null, but \"\(model)\" needs a text to embed")
        }
        return EmbeddingText(model: model, text: text, size: size)
    }
}

extension Column {
    /// The dimensions of a vector column; nil if it accepts any.
    var vectorSize: Int? {
        guard type.scalar == .vector, let name = dataType?.name else { return nil }
        return Int(name.drop { $0 != "(" }.dropFirst().prefix { $0 != ")" })
    }
}
