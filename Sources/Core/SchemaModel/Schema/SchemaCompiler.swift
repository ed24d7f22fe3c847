/// SDL to `Schema`, in four stages: read the declarations (`SchemaReader`), build the tables with keys and references
/// (`TableBuilder` over `RelationResolver`), add constraints and indexes (`ConstraintBuilder`), check names
/// (`SchemaNames`).
///
/// Every problem is a located diagnostic, and each stage goes on with what is sound. What comes out after errors is for
/// finding further ones only, never for use.
package enum SchemaCompiler {
    package static func compile(files: [SourceFile], sink: inout DiagnosticSink) -> Schema {
        let declared = SchemaReader.read(files, sink: &sink)
        var resolver = RelationResolver(declared)
        var schema = Schema(enums: declared.enums)
        for type in declared.types {
            guard let table = TableBuilder.build(type, resolver: &resolver, sink: &sink) else {
                sink.lose(type: type.name)
                continue
            }
            if type.isView {
                schema.views.append(ViewBuilder.relations(of: table, type, resolver: &resolver, sink: &sink))
            } else {
                schema.tables.append(ConstraintBuilder.build(table, of: type, resolver: &resolver, sink: &sink))
            }
        }
        SchemaNames.check(schema, declared, sink: &sink)
        if schema.tables.isEmpty, schema.views.isEmpty, !sink.hasErrors, let file = files.first {
            sink.report(.warning, rule: "empty-schema", in: file, "the schema has no tables")
        }
        return schema
    }
}
