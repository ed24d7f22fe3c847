/// Compilation options that an operator may set.
package struct CatalogOptions: Sendable {
    /// Bounds of `@refresh(every:)` in milliseconds. Source: docs/reference/sql-connect.md §5.7.
    package var everyMinimumMs: Int
    package var everyMaximumMs: Int

    package init(everyMinimumMs: Int = 10_000, everyMaximumMs: Int = 3_600_000) {
        self.everyMinimumMs = everyMinimumMs
        self.everyMaximumMs = everyMaximumMs
    }
}
