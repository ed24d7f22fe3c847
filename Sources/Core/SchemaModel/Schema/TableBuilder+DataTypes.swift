import GraphQLLanguage

/// Checks of `@col(dataType:, size:)`.
extension TableBuilder {
    func checkDataType(
        _ dataType: ColumnDataType?, _ col: DirectiveUse, _ field: DeclaredField, _ columnType: ColumnType,
        _ enums: [String: EnumType], _ sink: inout DiagnosticSink
    ) {
        if let text = col.string("dataType") {
            if let ignored = ColumnDataType.ignoredPart(of: text), dataType != nil {
                sink.report(
                    .warning, rule: .ignoredConstraint, at: col.range(of: "dataType"),
                    "only the type counts; \"\(ignored)\" is left out",
                    help: "add the constraint to the database yourself, or use the schema's own (!, @default, @unique)")
            }
            if dataType == nil, !ColumnDataType.isEnum(text, columnType, enums) {
                let offered = ColumnDataType.names(for: columnType)
                report(
                    .dataType, at: col.range(of: "dataType"), &sink,
                    "SQL type \"\(text)\" is not supported for \(columnType.typeText)",
                    help: offered.isEmpty ? nil : "supported: \(offered.joined(separator: ", "))")
            } else if dataType?.isKnown == false {
                sink.report(
                    .warning, rule: .unknownDataType, at: col.range(of: "dataType"),
                    "SQL type \"\(text)\" is not known; its values are converted from and to text",
                    help: DidYouMean.help(text, among: ColumnDataType.names(for: columnType)))
            } else if dataType?.isSerial == true, columnType.isList || field.isNullable {
                report(
                    .dataType, at: col.range(of: "dataType"), &sink,
                    "a serial column must be required and cannot be a list")
            }
        }
    }

    /// Checks `@col(size:)`: the maximum length of a string, or the dimensions of a vector.
    func checkSize(_ field: DeclaredField, _ columnType: ColumnType, _ sink: inout DiagnosticSink) {
        let col = field.directive("col")
        guard let col, let size = col.value("size")?.intValue else {
            if columnType.scalar == .vector, col?.string("dataType") == nil {
                report(
                    .dataType, at: field.typeRange, &sink, "a Vector needs its dimensions: @col(size: …)")
            }
            return
        }
        let range = col.range(of: "size")
        switch columnType.scalar {
        case _ where col.string("dataType") != nil:
            report(.dataType, at: range, &sink, "give either \"size\" or \"dataType\"")
        case .vector:
            if !(1...ColumnDataType.vectorSizeMax).contains(size) {
                report(
                    .dataType, at: range, &sink,
                    "the size of a Vector must be from 1 to \(ColumnDataType.vectorSizeMax)")
            }
        case .string:
            if !(1...10_485_760).contains(size) {
                report(.dataType, at: range, &sink, "\"size\" must be from 1 to 10485760")
            }
        case .uuid, .int, .int64, .float, .boolean, .date, .timestamp, .any, .enumeration:
            report(.dataType, at: range, &sink, "\"size\" is only allowed for columns of type String and Vector")
        }
    }
}
