package import SchemaModel

extension FieldForm {
    /// Returns the GraphQL type of a field in this form.
    package func inputType(of type: ColumnType) -> String {
        switch self {
        case .expression: type.expressionName
        case .update: "[\(type.updateName)!]"
        case .date: InputType.relative(isDate: true).text
        case .time: InputType.relative(isDate: false).text
        case .embedding: EmbeddingSource.typeName
        }
    }

    /// Returns how a `_Data` variable supplies a field in this form; nil for forms that must be literals.
    func plan(of type: ColumnType) -> CoercionPlan? {
        switch self {
        case .update: .change(type)
        case .date: .relative(isDate: true)
        case .time: .relative(isDate: false)
        case .expression, .embedding: nil
        }
    }

    /// Explains why a variable cannot supply a field in this form; nil if it can.
    var literalOnlyReason: String? {
        switch self {
        case .expression: "expressions must be literals"
        case .embedding: "embeddings must be literals"
        case .update, .date, .time: nil
        }
    }
}
