/// Compilation options that an operator may set.
package struct CatalogOptions: Sendable {
    /// Bounds of `@refresh(every:)` in milliseconds. Source: docs/reference/sql-connect.md §5.7.
    package var everyMinimumMs: Int
    package var everyMaximumMs: Int
    /// Whether operations that do not compile are left out instead of failing the compilation (`freshet dev`).
    package var omitsInvalidOperations: Bool

    package init(
        everyMinimumMs: Int = 10_000, everyMaximumMs: Int = 3_600_000, omitsInvalidOperations: Bool = false
    ) {
        self.omitsInvalidOperations = omitsInvalidOperations
        self.everyMinimumMs = everyMinimumMs
        self.everyMaximumMs = everyMaximumMs
    }
}
