import JSON
package import LiveModel
import SchemaModel

/// Where an operation says `{model: …, text: …}` in place of a vector.
/// Source: docs/reference/sql-connect.md §5.4 and §5.6, `Vector_Embed`.
package struct EmbeddingSource: Sendable {
    /// In GraphQL.
    package static let typeName = "Vector_Embed"

    /// Written out in the operation.
    package let model: String
    /// A constant or a variable of type `String!`.
    package let text: Operand.Source
    /// Numbers that the column takes; nil where its type leaves that open.
    package let size: Int?

    var identity: String { "embed(\(model)|\(text.identity)|\(size ?? 0))" }

    /// - Throws: `.invalidVariable` for a text that was sent as null in place of its default.
    package func embeddingText(in invocation: Invocation) throws(RequestError) -> EmbeddingText {
        guard let text = try text.value(as: ColumnType(.string), in: invocation).stringValue else {
            throw RequestError(
                .invalidVariable, "\(self.text.words) is null, and a vector of it by \"\(model)\" is asked for")
        }
        return EmbeddingText(model: model, text: text, size: size)
    }
}

extension Column {
    /// Numbers of a vector; nil where the column takes any number of them.
    var vectorSize: Int? {
        guard type.scalar == .vector, let sqlTypeOverride else { return nil }
        return Int(sqlTypeOverride.drop { $0 != "(" }.dropFirst().prefix { $0 != ")" })
    }
}
