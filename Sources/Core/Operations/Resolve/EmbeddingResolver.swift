import GraphQLLanguage
import SchemaModel

/// Resolves `{model: "…", text: $text}` in place of a vector. Source: docs/reference/sql-connect.md §5.4 and §5.6,
/// `Vector_Embed`.
extension OperationScope {
    /// Returns nil after a diagnostic.
    func embeddingOperand(_ value: Value, _ column: Column, in file: SourceFile) -> Operand? {
        let range = FileRange(range: value.range, file: file)
        let typeName = EmbeddingSource.typeName
        guard let fields = inputFields(value, of: typeName, offered: ["model", "text"], in: file) else { return nil }
        func field(_ name: String, _ what: String) -> Value? {
            if let value = fields.first(where: { $0.name.value == name })?.value { return value }
            error(.embeddings, at: range, "\(typeName) needs \"\(name)\", \(what)")
            return nil
        }
        let model = field("model", "the model that computes the vector").flatMap { self.model($0, in: file) }
        let text = field("text", "the text to embed").flatMap {
            operand($0, type: ColumnType(.string), as: .nonNull(.scalar(.string)), in: file)
        }
        guard let model, let text else { return nil }
        let source = EmbeddingSource(model: model, text: text.source, size: column.vectorSize)
        if !findings.embeddings.contains(where: { $0.identity == source.identity }) {
            findings.embeddings.append(source)
        }
        return Operand(.embedding(source), type: column.type, schema: schema)
    }

    /// Resolves the model, which must be a literal: vectors of different models cannot be compared.
    private func model(_ value: Value, in file: SourceFile) -> String? {
        if let model = value.stringValue, !model.isEmpty { return model }
        if let variable = value.variableName { findings.usedVariables.insert(variable) }
        error(
            .embeddings, at: FileRange(range: value.range, file: file),
            value.variableName == nil
                ? "expected a string with the name of a model" : "the model must be a literal, not a variable")
        return nil
    }
}
