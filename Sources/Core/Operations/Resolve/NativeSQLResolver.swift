import GraphQLLanguage
import JSON
import SchemaModel

/// Resolves `_select`, `_execute` and related fields. Source: docs/reference/sql-connect.md §5.4 and §5.6.
///
/// The SQL text is a literal by the developer in which `$1` and following are replaced by parameters. It is not parsed,
/// only scanned to tell parameters from quoted text and to check that its brackets balance.
extension OperationScope {
    func nativeSQL(_ field: SelectedField, result: NativeSQL.Result, isMutation: Bool = false) -> NativeSQL? {
        let arguments = arguments(of: field, offered: ["sql", "params"])
        let operands = parameters(arguments["params"], in: field.file)
        guard let value = arguments["sql"] else {
            error(.missingArgument, at: field.nameRange, "\"\(field.name.value)\" needs the argument \"sql\"")
            return nil
        }
        let range = field.fileRange(value.range)
        guard let text = value.stringValue else {
            error(.nativeSQL, at: range, "the SQL must be a string literal")
            return nil
        }
        let scan: NativeSQLScanner.Result
        do {
            scan = try NativeSQLScanner.scan(text)
        } catch {
            self.error(.nativeSQL, at: range, error.message)
            return nil
        }
        let allowed =
            isMutation
            ? ["INSERT", "UPDATE", "DELETE", "MERGE", "WITH", "SELECT"] : ["SELECT", "TABLE", "WITH"]
        guard allowed.contains(scan.firstWord.uppercased()) else {
            error(.nativeSQL, at: range, "the SQL must begin with \(allowed.joined(separator: ", "))")
            return nil
        }
        return nativeSQL(scan, operands, result, at: range)
    }

    private func nativeSQL(
        _ scan: NativeSQLScanner.Result, _ operands: [NativeSQL.Part?], _ result: NativeSQL.Result, at range: FileRange
    ) -> NativeSQL? {
        var used: Set<Int> = []
        var parts: [NativeSQL.Part] = []
        for piece in scan.pieces {
            switch piece {
            case .text(let text): parts.append(.text(text))
            case .parameter(let number):
                guard number >= 1, number <= operands.count else {
                    error(
                        .nativeSQL, at: range,
                        "the SQL uses $\(number), but params has \(operands.count)"
                            + " \(operands.count == 1 ? "value" : "values")"
                    )
                    return nil
                }
                used.insert(number)
                if let part = operands[number - 1] { parts.append(part) }
            }
        }
        if let unused = (1...max(operands.count, 1)).first(where: { $0 <= operands.count && !used.contains($0) }) {
            warning(.nativeSQL, at: range, "the SQL does not use $\(unused)")
        }
        return NativeSQL(parts: parts, result: result)
    }

    /// Returns one part per element of `params`; nil for an element with a diagnostic.
    private func parameters(_ value: Value?, in file: SourceFile) -> [NativeSQL.Part?] {
        guard let value, !value.isNull else { return [] }
        guard let elements = value.listValue else {
            error(.valueType, at: FileRange(range: value.range, file: file), "\"params\" must be a literal list")
            return []
        }
        return elements.map { parameter($0, in: file) }
    }

    private func parameter(_ value: Value, in file: SourceFile) -> NativeSQL.Part? {
        let range = FileRange(range: value.range, file: file)
        switch value.kind {
        case .variable(let name):
            guard let variable = use(variable: name, at: range) else { return nil }
            guard let type = variable.type.columnType else {
                mismatch(variable, expected: "a scalar or a list of scalars", at: range)
                return nil
            }
            return .operand(Operand(.variable(name, path: []), type: type, schema: schema))
        case .object:
            guard let fields = inputFields(value, of: "SQL_Param", offered: ["_expr"], in: file),
                let text = fields.first?.value
            else { return nil }
            return expressionOperand(text, type: ColumnType(.string), in: file).map(NativeSQL.Part.operand)
        case .string(let text, _):
            guard !text.utf8.contains(0) else {
                error(.valueType, at: range, "Postgres cannot store the character U+0000")
                return nil
            }
            // Untyped, so that Postgres infers the type from the context. The space separates a leading `E` from a
            // preceding word.
            return .text(text.contains("\\") ? " " + SQLName.literal(text) : SQLName.literal(text))
        case .int(let text), .float(let text): return .text(text.hasPrefix("-") ? "(\(text))" : text)
        case .boolean(let flag): return .text(flag ? "TRUE" : "FALSE")
        case .null: return .text("NULL")
        case .enum, .list:
            error(.valueType, at: range, "expected a variable, a string, a number, true, false, null or {_expr: …}")
            return nil
        }
    }
}

extension InputType {
    /// The column type that could hold the value; nil if there is none.
    var columnType: ColumnType? {
        switch self {
        case .nonNull(let inner): inner.columnType
        case .scalar(let scalar): ColumnType(scalar)
        case .list(let element): element.columnType.flatMap { $0.isList ? nil : ColumnType($0.scalar, isList: true) }
        case .key, .data, .relative, .duration, .generated, .orderDirection, .searchFormat: nil
        }
    }
}
