/// Full-text search of a table's `@searchable` fields, all together and in one language.
enum SearchSQL {
    /// The document of a row. The same expression, without an alias, is what the table's search index holds.
    static func document(_ table: Table, _ alias: String?) -> String {
        let columns = table.columns.filter { $0.searchLanguage != nil }
        let texts = columns.map { column in
            let name = alias.map { ColumnSQL.reference(column, of: $0) } ?? SQLName.quoted(column.name)
            return "coalesce(\(name), '')"
        }
        return "to_tsvector(\(language(table)), \(texts.joined(separator: " || ' ' || ")))"
    }

    /// What is searched for; nothing matches null.
    static func query(_ search: TextSearch, _ text: Piece, _ table: Table) -> [Piece] {
        let function =
            switch search.format {
            case .query: "websearch_to_tsquery"
            case .plain: "plainto_tsquery"
            case .phrase: "phraseto_tsquery"
            case .advanced: "to_tsquery"
            }
        return .text("\(function)(\(language(table)), ") + [text] + .text(")")
    }

    static func relevance(_ query: [Piece], _ table: Table, _ alias: String) -> [Piece] {
        .text("ts_rank(\(document(table, alias)), ") + query + .text(")::double precision")
    }

    /// Whether an expression of an index is the document of some fields.
    static func isDocument(_ expression: String) -> Bool {
        ExpressionText.reduced(expression).hasPrefix("to_tsvector'")
    }

    static func indexName(_ table: Table) -> String {
        SQLName.generated([table.name], suffix: "search_idx")
    }

    private static func language(_ table: Table) -> String {
        let language = table.columns.lazy.compactMap(\.searchLanguage).first ?? SearchLanguage.usual
        return SQLName.literal(language) + "::regconfig"
    }
}
