import CEL
import GraphQLLanguage
import JSON
import SchemaModel

// Values written in an operation: literals checked and brought into canonical form, variables checked for their place.

extension OperationScope {
    /// A constant of any input type; nil after a diagnostic.
    func constant(_ value: GraphQLLanguage.Value, as type: InputType, in file: SourceFile) -> JSONValue? {
        let place = FileRange(range: value.range, file: file)
        if case .variable = value.kind {
            error("value-type", at: place, "a variable cannot stand here")
            return nil
        }
        if value.isNull {
            guard !type.isNonNull else {
                error("value-type", at: place, "expected \(type.text), found null")
                return nil
            }
            return .null
        }
        switch type.nullable {
        case .nonNull: return nil
        case .scalar(let scalar): return constant(value, scalar: scalar, at: place)
        case .list(let element):
            let elements = value.listValue ?? [value]
            let constants = elements.compactMap { constant($0, as: element, in: file) }
            return constants.count == elements.count ? .array(constants) : nil
        case .orderDirection:
            guard let word = value.enumValue, SortOrder(rawValue: word) != nil else {
                error("value-type", at: place, "expected ASC or DESC")
                return nil
            }
            return .string(word)
        case .key(let typeName):
            guard let table = schema.table(ofType: typeName) else { return nil }
            return constantObject(value, type, table.keyColumns, isComplete: true, in: file)
        case .data(let typeName):
            guard let table = schema.table(ofType: typeName) else { return nil }
            return constantObject(value, type, table.columns, isComplete: false, in: file)
        case .generated(let input): return constant(value, input, at: place)
        case .relative(let isDate):
            return constant(value, type, at: place) { coercion, json throws(InputCoercion.Mismatch) in
                try coercion.relative(json, isDate: isDate, "")
            }
        case .duration(let isDate):
            return constant(value, type, at: place) { coercion, json throws(InputCoercion.Mismatch) in
                try coercion.duration(json, isDate: isDate, "")
            }
        }
    }

    /// A default of a type `Movie_Filter`, `Movie_Order`, ….
    private func constant(_ value: GraphQLLanguage.Value, _ input: InputTypeRef, at place: FileRange) -> JSONValue? {
        let errorsBefore = sink.count(of: .error)
        // The same checks as where it is written into the operation, with their places.
        switch (input, input.table.flatMap(schema.table(ofType:))) {
        case (.filter, let table?): _ = filter(value, table, in: place.file)
        case (.having, let table?): _ = having(value, table, in: place.file)
        case (.order, let table?): _ = orderTerms(value, table, in: place.file)
        case (.firstRow, let table?): _ = first(value, table, in: place.file)
        case (.tests(let type), _): _ = tests(value, type, in: place.file)
        case (.pattern, _): _ = pattern(value, in: place.file)
        default: break
        }
        guard sink.count(of: .error) == errorsBefore else { return nil }
        return constant(value, .generated(input), at: place) { coercion, json throws(InputCoercion.Mismatch) in
            try coercion.coerce(json, to: input)
        }
    }

    /// A default that is checked like what a request sends.
    private func constant(
        _ value: GraphQLLanguage.Value, _ type: InputType, at place: FileRange,
        _ coerce: (inout InputCoercion, JSONValue) throws(InputCoercion.Mismatch) -> JSONValue
    ) -> JSONValue? {
        guard let json = json(value, at: place, takesWords: true) else { return nil }
        var coercion = InputCoercion(schema: schema, scalars: ScalarCoercion(enums: schema.enums))
        do throws(InputCoercion.Mismatch) {
            return try coerce(&coercion, json)
        } catch {
            self.error("value-type", at: place, "\(type.nullable.text)\(error.path): expected \(error.expected)")
            return nil
        }
    }

    private func constantObject(
        _ value: GraphQLLanguage.Value, _ type: InputType, _ columns: [Column], isComplete: Bool, in file: SourceFile
    ) -> JSONValue? {
        let place = FileRange(range: value.range, file: file)
        guard let fields = value.objectFields else {
            error("value-type", at: place, "expected an object of type \(type.text)")
            return nil
        }
        var object = JSONObject()
        for field in fields {
            guard let column = columns.first(where: { $0.field == field.name.value }) else {
                error(
                    "unknown-input-field", at: FileRange(range: field.name.range, file: file),
                    "\(type.nullable.text) has no field \"\(field.name.value)\"",
                    help: DidYouMean.help(field.name.value, among: columns.map(\.field)), unknown: field.name.value)
                return nil
            }
            guard let constant = constant(field.value, as: InputType(column.type), in: file) else { return nil }
            object[column.field] = constant
        }
        if isComplete, let missing = columns.first(where: { object[$0.field]?.isNull ?? true }) {
            error("value-type", at: place, "\(type.nullable.text) needs \"\(missing.field)\"")
            return nil
        }
        return .object(object)
    }

    func constant(_ value: GraphQLLanguage.Value, scalar: ScalarType, at place: FileRange) -> JSONValue? {
        if case .enumeration(let name) = scalar {
            let values = schema.enums[name]?.values ?? []
            guard let word = value.enumValue, values.contains(word) else {
                let written = value.enumValue ?? value.stringValue
                error(
                    "value-type", at: place, "expected a value of \(name)",
                    help: written.flatMap { text in
                        values.contains(text)
                            ? "write it without quotes: \(text)" : DidYouMean.help(text, among: values)
                    })
                return nil
            }
            return .string(word)
        }
        guard let json = json(value, at: place) else { return nil }
        do {
            return try ScalarCoercion(enums: schema.enums).coerce(json, to: scalar)
        } catch {
            self.error("value-type", at: place, "expected \(error.expected)")
            return nil
        }
    }

    /// A literal as JSON, which is what `Any` takes.
    private func json(_ value: GraphQLLanguage.Value, at place: FileRange, takesWords: Bool = false) -> JSONValue? {
        switch value.kind {
        case .null: return .null
        case .boolean(let flag): return .bool(flag)
        case .string(let text, _): return .string(text)
        case .int(let text):
            if let number = Int64(text) { return .int(number) }
            return value.doubleValue.map(JSONValue.double) ?? unfit(place)
        case .float: return value.doubleValue.map(JSONValue.double) ?? unfit(place)
        case .list(let elements):
            let values = elements.compactMap { json($0, at: place, takesWords: takesWords) }
            return values.count == elements.count ? .array(values) : nil
        case .object(let fields):
            var object = JSONObject()
            for field in fields {
                guard let inner = json(field.value, at: place, takesWords: takesWords) else { return nil }
                object[field.name.value] = inner
            }
            return .object(object)
        case .variable:
            error("value-type", at: place, "a variable cannot stand inside this value")
            return nil
        case .enum(let word):
            if takesWords { return .string(word) }
            error("value-type", at: place, "\(word) is no value here", help: "a text needs quotes")
            return nil
        }
    }

    private func unfit(_ place: FileRange) -> JSONValue? {
        error("value-type", at: place, "the number does not fit")
        return nil
    }

    /// A value of a column's type, with variables. `place` is the type of the position, `[T!]` for lists.
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
        let place = FileRange(range: value.range, file: file)
        if let name = value.variableName {
            guard let variable = use(variable: name, at: place) else { return nil }
            guard variable.type.accepts(in: position, hasDefault: variable.defaultValue.map { !$0.isNull } ?? false)
            else {
                mismatch(variable, expected: position.text, at: place)
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
        return constant(value, as: position, in: file).map(Operand.Source.constant)
    }

    // MARK: Expressions

    /// The value of an argument `…_expr`: a CEL text of the operation.
    func expressionOperand(
        _ value: GraphQLLanguage.Value, type: ColumnType, in file: SourceFile, pattern: Operand.Pattern? = nil
    ) -> Operand? {
        let place = FileRange(range: value.range, file: file)
        guard let text = value.stringValue else {
            error(
                "expression", at: place,
                value.variableName == nil
                    ? "expected a CEL expression in a string" : "an expression cannot come from a variable")
            return nil
        }
        return expressionOperand(text, type: type, at: place, pattern: pattern)
    }

    func expressionOperand(
        _ text: String, type: ColumnType, at place: FileRange, pattern: Operand.Pattern? = nil
    ) -> Operand? {
        let isUUIDCall = text.filter { !$0.isWhitespace } == "uuidV4()"
        if isUUIDCall {
            guard operation.kind == .mutation else {
                error("expression", at: place, "uuidV4() belongs to mutations: a query asks for what is there")
                return nil
            }
            guard type == ColumnType(.uuid) || type == ColumnType(.string) else {
                error("expression", at: place, "uuidV4() gives a UUID, expected \(InputType(type).text)")
                return nil
            }
            return Operand(.freshUUID(place: nextPlace()), type: type, schema: schema)
        }
        guard var program = expression(text, expecting: nil, at: place, in: .value) else { return nil }
        if let deduced = try? ExpressionProgram.environment.deduceType(text), !DefaultExpression.mayFit(deduced, type) {
            error(
                "expression", at: place, "it gives \(deduced.description), expected \(InputType(type).text)")
            return nil
        }
        program.enums = schema.enums
        expressions.append(program)
        return Operand(.expression(program), type: type, schema: schema, pattern: pattern)
    }

    /// Where an expression stands: what it may read there.
    enum ExpressionContext {
        /// `@auth`, before anything has run.
        case auth
        /// A value of an argument or of data.
        case value
        /// `@check`
        case check
    }

    /// Compiles, marks the variables that it reads, and refuses names that will never have a value.
    func expression(
        _ text: String, expecting: CELType?, at place: FileRange, in location: ExpressionContext
    ) -> ExpressionProgram? {
        let program: ExpressionProgram
        do {
            program = try ExpressionProgram(text, expecting: expecting)
        } catch {
            for problem in error.diagnostics {
                let help = text.contains("uuidV4") ? "uuidV4() can only stand alone" : nil
                self.error(
                    "expression", at: place,
                    "\(problem.message) (at \(problem.line):\(problem.column) of the expression)", help: help)
            }
            return nil
        }
        for name in program.variablesRead {
            usedVariables.insert(name)
            guard !declaredNames.contains(name) else { continue }
            error(
                "undefined-variable", at: place, "the expression reads vars.\(name), which is not declared",
                help: DidYouMean.help(name, among: operation.variables.map(\.name.value)))
        }
        let requestFields = ["time", "operationName", "auth", "variables"]
        for attribute in program.program.attributes where attribute.root == "request" {
            guard let field = attribute.fields.first, !requestFields.contains(field) else { continue }
            error(
                "expression", at: place, "an expression of an operation cannot read request.\(field)",
                help: "it sees auth, vars, request.time and request.operationName")
        }
        for name in program.strangersOfAuth.sorted() {
            error(
                "expression", at: place, "there is no auth.\(name)",
                help: DidYouMean.help(name, among: AuthBinding.fields) ?? "auth has uid and token")
        }
        if program.readsThis, location != .check {
            error("expression", at: place, "\"this\" is the value of a @check and nothing here")
        }
        if program.readsResponse, location == .auth || (location == .value && operation.kind != .mutation) {
            error(
                "expression", at: place, "\"response\" is what earlier fields of a mutation gave; here is none",
                help: "it can be read in @check and in values of a mutation")
        } else if location == .check, !mayLackFragments {
            for key in program.responseKeys.subtracting(rootKeys).sorted() {
                error(
                    "expression", at: place, "\"response\" has no \"\(key)\": no field of the operation is called so",
                    help: DidYouMean.help(key, among: rootKeys.sorted()))
            }
        } else if location == .value {
            for key in program.responseKeys.subtracting(keysBefore).sorted() {
                error(
                    "expression", at: place,
                    "\"response\" has no \"\(key)\" yet: fields run in their order, and none before is called so",
                    help: DidYouMean.help(key, among: keysBefore))
            }
        }
        return program
    }
}
