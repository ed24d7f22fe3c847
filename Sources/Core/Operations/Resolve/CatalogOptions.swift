/// What an operator may set about compilation.
package struct CatalogOptions: Sendable {
    /// Bounds of `@refresh(every:)`. Source: docs/reference/sql-connect.md §5.7.
    package var everyMinimumMs: Int
    package var everyMaximumMs: Int

    package init(everyMinimumMs: Int = 10_000, everyMaximumMs: Int = 3_600_000) {
        self.everyMinimumMs = everyMinimumMs
        self.everyMaximumMs = everyMaximumMs
    }
}
