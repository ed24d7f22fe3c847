import GraphQLLanguage

/// Reads `@searchable(language:)`. Source: docs/reference/sql-connect.md §5.2.
enum SearchLanguage {
    static let `default` = "english"

    /// The text search configurations that every Postgres installation has.
    static let known: Set<String> = [
        "arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "finnish", "french", "german", "greek",
        "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "norwegian", "portuguese",
        "romanian", "russian", "serbian", "simple", "spanish", "swedish", "tamil", "turkish", "yiddish",
    ]

    /// Returns nil after reporting a problem.
    static func read(
        _ use: DirectiveUse, for column: ColumnType, sink: inout DiagnosticSink
    ) -> String? {
        func refuse(_ argument: String, _ message: String, help: String? = nil) -> String? {
            sink.report(.error, rule: .searchable, at: use.range(of: argument), message, help: help)
            return nil
        }
        guard column == ColumnType(.string) else {
            return refuse("", "@searchable is only allowed on fields of type String")
        }
        let language = use.string("language") ?? `default`
        guard known.contains(language) else {
            return refuse(
                "language", "Postgres has no text search configuration \"\(language)\"",
                help: DidYouMean.help(language, among: known.sorted()))
        }
        return language
    }
}
