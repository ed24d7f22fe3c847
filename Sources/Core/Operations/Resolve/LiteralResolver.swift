import GraphQLLanguage
import JSON
import SchemaModel

// Values in an operation: checks literals and converts them to canonical form, and checks variables against their use.

extension OperationScope {
    /// Resolves a constant of any input type; returns nil after a diagnostic.
    func constant(_ value: GraphQLLanguage.Value, as type: InputType, in file: SourceFile) -> JSONValue? {
        let range = FileRange(range: value.range, file: file)
        if case .variable = value.kind {
            error(.valueType, at: range, "a variable is not allowed here")
            return nil
        }
        if value.isNull {
            guard !type.isNonNull else {
                error(.valueType, at: range, "expected \(type.text), found null")
                return nil
            }
            return .null
        }
        switch type.nullable {
        case .nonNull: return nil
        case .scalar(let scalar): return constant(value, scalar: scalar, at: range)
        case .list(let element):
            let elements = value.listValue ?? [value]
            let constants = elements.compactMap { constant($0, as: element, in: file) }
            return constants.count == elements.count ? .array(constants) : nil
        case .orderDirection:
            guard let word = value.enumValue, SortOrder(rawValue: word) != nil else {
                error(.valueType, at: range, "expected ASC or DESC")
                return nil
            }
            return .string(word)
        case .searchFormat:
            guard let word = value.enumValue, TextSearch.Format(rawValue: word) != nil else {
                let words = TextSearch.Format.allCases.map(\.rawValue).joined(separator: ", ")
                error(.valueType, at: range, "expected one of \(words)")
                return nil
            }
            return .string(word)
        case .key(let typeName):
            guard let table = schema.table(ofType: typeName) else { return nil }
            return constantObject(value, type, table.keyColumns, isComplete: true, in: file)
        case .data(let typeName):
            guard let table = schema.table(ofType: typeName) else { return nil }
            return constantObject(value, type, table.columns, isComplete: false, in: file)
        case .generated(let input): return constant(value, input, at: range)
        case .relative(let isDate):
            return constant(value, type, at: range) { coercion, json throws(InputCoercion.Mismatch) in
                try coercion.relative(json, isDate: isDate, "")
            }
        case .duration(let isDate):
            return constant(value, type, at: range) { coercion, json throws(InputCoercion.Mismatch) in
                try coercion.duration(json, isDate: isDate, "")
            }
        }
    }

    /// Resolves a default of a type such as `Novel_Filter` or `Novel_Order`.
    private func constant(_ value: GraphQLLanguage.Value, _ input: InputTypeRef, at range: FileRange) -> JSONValue? {
        let errorsBefore = sink.count(of: .error)
        // Applies the checks of a literal in the operation, with precise locations.
        switch (input, input.table.flatMap(schema.table(ofType:))) {
        case (.filter, let table?): _ = filter(value, table, in: range.file)
        case (.having, let table?): _ = having(value, table, in: range.file)
        case (.order, let table?): _ = orderTerms(value, table, in: range.file)
        case (.firstRow, let table?): _ = first(value, table, in: range.file)
        case (.tests(let type), _): _ = tests(value, type, in: range.file)
        case (.pattern, _): _ = pattern(value, in: range.file)
        case (.filter, nil), (.having, nil), (.order, nil), (.firstRow, nil), (.listFilter, _), (.change, _): break
        }
        guard sink.count(of: .error) == errorsBefore else { return nil }
        return constant(value, .generated(input), at: range) { coercion, json throws(InputCoercion.Mismatch) in
            try coercion.coerce(json, to: input)
        }
    }

    /// Resolves a default that is checked like a value in a request.
    private func constant(
        _ value: GraphQLLanguage.Value, _ type: InputType, at range: FileRange,
        _ coerce: (inout InputCoercion, JSONValue) throws(InputCoercion.Mismatch) -> JSONValue
    ) -> JSONValue? {
        guard let json = json(value, at: range, takesWords: true) else { return nil }
        var coercion = InputCoercion(schema: schema, scalars: ScalarCoercion(enums: schema.enums))
        do throws(InputCoercion.Mismatch) {
            return try coerce(&coercion, json)
        } catch {
            self.error(.valueType, at: range, "\(type.nullable.text)\(error.path): expected \(error.expected)")
            return nil
        }
    }

    private func constantObject(
        _ value: GraphQLLanguage.Value, _ type: InputType, _ columns: [Column], isComplete: Bool, in file: SourceFile
    ) -> JSONValue? {
        let range = FileRange(range: value.range, file: file)
        guard let fields = value.objectFields else {
            error(.valueType, at: range, "expected an object of type \(type.text)")
            return nil
        }
        var object = JSONObject()
        for field in fields {
            guard let column = columns.first(where: { $0.field == field.name.value }) else {
                error(
                    .unknownInputField, at: FileRange(range: field.name.range, file: file),
                    "\(type.nullable.text) has no field \"\(field.name.value)\"",
                    help: DidYouMean.help(field.name.value, among: columns.map(\.field)), unknown: field.name.value)
                return nil
            }
            guard let constant = constant(field.value, as: InputType(column.type), in: file) else { return nil }
            object[column.field] = constant
        }
        if isComplete, let missing = columns.first(where: { object[$0.field]?.isNull ?? true }) {
            error(.valueType, at: range, "\(type.nullable.text) needs \"\(missing.field)\"")
            return nil
        }
        return .object(object)
    }

    func constant(_ value: GraphQLLanguage.Value, scalar: ScalarType, at range: FileRange) -> JSONValue? {
        if case .enumeration(let name) = scalar {
            let values = schema.enums[name]?.values ?? []
            guard let word = value.enumValue, values.contains(word) else {
                let written = value.enumValue ?? value.stringValue
                error(
                    .valueType, at: range, "expected a value of \(name)",
                    help: written.flatMap { text in
                        values.contains(text)
                            ? "write it without quotes: \(text)" : DidYouMean.help(text, among: values)
                    })
                return nil
            }
            return .string(word)
        }
        guard let json = json(value, at: range) else { return nil }
        do {
            return try ScalarCoercion(enums: schema.enums).coerce(json, to: scalar)
        } catch {
            self.error(.valueType, at: range, "expected \(error.expected)")
            return nil
        }
    }

    /// Converts a literal to JSON, the form of `Any` values.
    private func json(_ value: GraphQLLanguage.Value, at range: FileRange, takesWords: Bool = false) -> JSONValue? {
        switch value.kind {
        case .null: return .null
        case .boolean(let flag): return .bool(flag)
        case .string(let text, _): return .string(text)
        case .int(let text):
            if let number = Int64(text) { return .int(number) }
            return value.doubleValue.map(JSONValue.double) ?? unfit(range)
        case .float: return value.doubleValue.map(JSONValue.double) ?? unfit(range)
        case .list(let elements):
            let values = elements.compactMap { json($0, at: range, takesWords: takesWords) }
            return values.count == elements.count ? .array(values) : nil
        case .object(let fields):
            var object = JSONObject()
            for field in fields {
                guard let inner = json(field.value, at: range, takesWords: takesWords) else { return nil }
                object[field.name.value] = inner
            }
            return .object(object)
        case .variable:
            error(.valueType, at: range, "a variable is not allowed inside this value")
            return nil
        case .enum(let word):
            if takesWords { return .string(word) }
            error(.valueType, at: range, "unexpected value \(word)", help: "strings need quotes")
            return nil
        }
    }

    private func unfit(_ range: FileRange) -> JSONValue? {
        error(.valueType, at: range, "the number is out of range")
        return nil
    }

    /// Resolves a value of a column's type, which may contain variables. `position` is the type expected at this
    /// position, `[T!]` for lists.
    func operand(
        _ value: GraphQLLanguage.Value, type: ColumnType, as position: InputType? = nil, in file: SourceFile,
        pattern: Operand.Pattern? = nil
    ) -> Operand? {
        source(value, type: type, position: position ?? InputType(type), in: file).map {
            Operand($0, type: type, schema: schema, pattern: pattern)
        }
    }

    private func source(
        _ value: GraphQLLanguage.Value, type: ColumnType, position: InputType, in file: SourceFile
    ) -> Operand.Source? {
        let range = FileRange(range: value.range, file: file)
        if let name = value.variableName {
            guard let variable = use(variable: name, at: range) else { return nil }
            guard variable.type.accepts(in: position, hasDefault: variable.defaultValue.map { !$0.isNull } ?? false)
            else {
                mismatch(variable, expected: position.text, at: range)
                return nil
            }
            return .variable(name, path: [])
        }
        if type.isList, case .list(let element) = position.nullable, let elements = value.listValue,
            !value.variableNames.isEmpty
        {
            let sources = elements.compactMap {
                source($0, type: ColumnType(type.scalar), position: element, in: file)
            }
            return sources.count == elements.count ? .list(sources) : nil
        }
        if type == ColumnType(.any), !value.variableNames.isEmpty { return anySource(value, in: file) }
        return constant(value, as: position, in: file).map(Operand.Source.constant)
    }

    /// Resolves a literal of type `Any` that contains variables, which may have any type.
    private func anySource(_ value: GraphQLLanguage.Value, in file: SourceFile) -> Operand.Source? {
        switch value.kind {
        case .variable(let name):
            return use(variable: name, at: FileRange(range: value.range, file: file)).map {
                .variable($0.name, path: [])
            }
        case .list(let elements):
            let sources = elements.compactMap { anySource($0, in: file) }
            return sources.count == elements.count ? .list(sources) : nil
        case .object(let fields):
            let members = fields.compactMap { field in
                anySource(field.value, in: file).map { (name: field.name.value, value: $0) }
            }
            return members.count == fields.count ? .object(members) : nil
        case .null, .boolean, .string, .int, .float, .enum:
            return constant(value, as: .scalar(.any), in: file).map(Operand.Source.constant)
        }
    }
}
