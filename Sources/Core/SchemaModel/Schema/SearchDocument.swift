/// The document of full-text search: a table's `@searchable` fields together, in one language.
package enum SearchDocument {
    /// Returns the SQL expression of a row's document. Without an alias, it is the expression of the table's search
    /// index.
    package static func text(_ table: Table, _ alias: String?) -> String {
        let columns = table.columns.filter { $0.searchLanguage != nil }
        let texts = columns.map { column in
            let name = alias.map { "\($0).\(SQLName.quoted(column.name))" } ?? SQLName.quoted(column.name)
            return "coalesce(\(name)\(column.dataType?.conversion == nil ? "" : "::text"), '')"
        }
        return "to_tsvector(\(language(table)), \(texts.joined(separator: " || ' ' || ")))"
    }

    package static func indexName(_ table: Table) -> String {
        SQLName.generated([table.name], suffix: "search_idx")
    }

    package static func language(_ table: Table) -> String {
        let language = table.columns.lazy.compactMap(\.searchLanguage).first ?? SearchLanguage.default
        return SQLName.literal(language) + "::regconfig"
    }
}
