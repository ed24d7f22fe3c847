/// Compiles SDL to a `Schema` in four stages: reads the declarations (`SchemaReader`), builds the tables with keys and
/// references (`TableBuilder` with `RelationResolver`), adds constraints and indexes (`ConstraintBuilder`), and checks
/// names (`SchemaNames`) and required references (`RequiredCycles`).
///
/// Every problem becomes a located diagnostic, and each stage continues with the valid parts. A schema compiled with
/// errors serves only to find further ones.
package enum SchemaCompiler {
    package static func compile(files: [SourceFile], sink: inout DiagnosticSink) -> Schema {
        let declared = SchemaReader.read(files, sink: &sink)
        var resolver = RelationResolver(declared)
        var schema = Schema(enums: declared.enums)
        for type in declared.types {
            guard let table = TableBuilder.build(type, resolver: &resolver, sink: &sink) else {
                sink.suppress(type: type.name)
                continue
            }
            if type.isView {
                schema.views.append(ViewBuilder.relations(of: table, type, resolver: &resolver, sink: &sink))
            } else {
                schema.tables.append(ConstraintBuilder.build(table, of: type, resolver: &resolver, sink: &sink))
            }
        }
        SchemaNames.check(schema, declared, sink: &sink)
        RequiredCycles.check(schema, declared, sink: &sink)
        return schema
    }
}
