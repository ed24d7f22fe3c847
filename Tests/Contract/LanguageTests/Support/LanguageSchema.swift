import Catalog
import LibrarySchema
import Testing

/// The library as the tests of the language use it.
enum LanguageSchema {
    static let sdl = LibrarySchema.migrated
    static let rows = LibrarySchema.rows

    static func expand(_ text: String) -> String { LibrarySchema.expand(text) }

    static func catalog(_ operations: String) throws -> Catalog {
        try LibrarySchema.compile(["main": operations], schema: sdl)
    }

    static func operation(_ text: String) throws -> StoredOperation {
        let catalog = try catalog(text)
        return try #require(catalog.connectors["main"]?.operations.values.first)
    }
}
