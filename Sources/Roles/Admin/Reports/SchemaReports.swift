import Catalog
import Execution
import JSON
import LiveModel
import SchemaModel
import SchemaSDL

/// The project's schema as the node serves it.
extension NodeInspector {
    /// Returns the tables and views with their fields, and the generated schema that editors see.
    func schema() -> JSONValue {
        let current = parts.catalogs.set.current
        let schema = current.catalog.schema
        return [
            "node": .string(nodeID.name), "project": .string(current.version.hex),
            "tables": .array((schema.tables + schema.views).map(Self.table)),
            "sdl": .string(current.catalog.graphQLSchema.text),
        ]
    }

    private static func table(_ table: Table) -> JSONValue {
        [
            "type": .string(table.typeName), "table": .string(table.name), "isView": .bool(table.view != nil),
            "key": .array(table.key.map(JSONValue.string)),
            "fields": .array(
                table.columns.map { column in
                    [
                        "field": .string(column.field), "column": .string(column.name),
                        "type": .string(column.type.typeText + (column.isNullable ? "" : "!")),
                    ]
                }),
            "references": .array(
                table.references.map { reference in
                    [
                        "field": .string(reference.field), "type": .string(reference.targetType),
                        "by": .array(reference.localFields.map(JSONValue.string)),
                    ]
                }),
            "indexes": .array(table.indexes.map { .array($0.fields.map(JSONValue.string)) }),
        ]
    }
}
