import GraphQLLanguage
import SchemaModel

/// Resolves `novels_search` and `novels_embedding_similarity`. Source: docs/reference/sql-connect.md §5.2 and §5.4.
extension OperationScope {
    func search(_ field: SelectedField, _ table: Table) -> RowList? {
        var values = arguments(
            of: field, offered: ["query", "queryFormat", "relevanceThreshold"] + Self.listArgumentNames)
        guard let query = values.removeValue(forKey: "query") else {
            error(.missingArgument, at: field.nameRange, "\"\(field.name.value)\" needs the argument \"query\"")
            return nil
        }
        let operand = operand(query, type: ColumnType(.string), in: field.file)
        let format = searchFormat(values.removeValue(forKey: "queryFormat"), of: field)
        let threshold = values.removeValue(forKey: "relevanceThreshold").flatMap {
            self.operand($0, type: ColumnType(.float), in: field.file)
        }
        guard let operand else { return nil }
        let search = TextSearch(query: operand, format: format, relevanceMin: threshold.flatMap(Self.given))
        return rowList(field, .search(table, search), values)
    }

    private func searchFormat(_ value: Value?, of field: SelectedField) -> TextSearch.FormatArgument {
        guard let name = value?.variableName, let value else { return .constant(word(value, of: field) ?? .query) }
        let range = field.fileRange(value.range)
        guard let variable = use(variable: name, at: range) else { return .constant(.query) }
        if !variable.type.accepts(in: .searchFormat, hasDefault: variable.defaultValue != nil) {
            mismatch(variable, expected: InputType.searchFormat.text, at: range)
        }
        return .variable(name)
    }

    func similarity(_ field: SelectedField, _ table: Table, _ column: Column) -> RowList? {
        var values = arguments(
            of: field,
            offered: ["compare", "compare_embed", "method", "within", "where", "limit"])
        let vector = compared(field, column, &values)
        let method: SimilarityMethod = word(values.removeValue(forKey: "method"), of: field) ?? .default
        let within = values.removeValue(forKey: "within").flatMap {
            operand($0, type: ColumnType(.float), in: field.file)
        }
        guard let vector else { return nil }
        let similarity = Similarity(
            column: column, vector: vector, method: method, distanceMax: within.flatMap(Self.given))
        return rowList(field, .similarity(table, similarity), values)
    }

    /// Resolves `compare` or `compare_embed`.
    private func compared(_ field: SelectedField, _ column: Column, _ values: inout [String: Value]) -> Operand? {
        switch (values.removeValue(forKey: "compare"), values.removeValue(forKey: "compare_embed")) {
        case (let vector?, nil): return operand(vector, type: ColumnType(.vector), in: field.file)
        case (nil, let embed?): return embeddingOperand(embed, column, in: field.file)
        case (nil, nil):
            error(
                .missingArgument, at: field.nameRange,
                "\"\(field.name.value)\" needs the argument \"compare\" or \"compare_embed\"")
            return nil
        case (.some, let embed?):
            error(
                .embeddings, at: field.fileRange(embed.range),
                "\"\(field.name.value)\" takes either \"compare\" or \"compare_embed\"")
            return nil
        }
    }

    private static func given(_ operand: Operand) -> Operand? {
        operand.isNullConstant ? nil : operand
    }

    /// Resolves a literal enum value.
    private func word<Word: RawRepresentable & CaseIterable>(
        _ value: Value?, of field: SelectedField
    ) -> Word? where Word.RawValue == String {
        guard let value, !value.isNull else { return nil }
        if let word = value.enumValue.flatMap(Word.init(rawValue:)) { return word }
        error(
            .valueType, at: field.fileRange(value.range),
            "expected one of \(Word.allCases.map(\.rawValue).joined(separator: ", ")), as a literal")
        return nil
    }
}
