import Operations
import SchemaModel

/// Renders full-text search in the document of a row (see `SearchDocument`).
enum SearchSQL {
    /// Returns the Postgres function that parses a query of this format.
    static func parser(_ format: TextSearch.Format) -> String {
        switch format {
        case .query: "websearch_to_tsquery"
        case .plain: "plainto_tsquery"
        case .phrase: "phraseto_tsquery"
        case .advanced: "to_tsquery"
        }
    }

    /// Renders the search query; a null text matches nothing.
    static func query(_ parser: [Piece], _ text: Piece, _ table: Table) -> [Piece] {
        parser + .text("(\(SearchDocument.language(table)), ") + [text] + .text(")")
    }

    static func relevance(_ query: [Piece], _ table: Table, _ alias: String) -> [Piece] {
        .text("ts_rank(\(SearchDocument.text(table, alias)), ") + query + .text(")::double precision")
    }
}
