import CEL
import GraphQLLanguage
import SchemaModel

/// Resolves CEL expressions in operations: values `…_expr`, `@auth` and `@check`.
extension OperationScope {
    /// Resolves an argument `…_expr`: a literal CEL expression.
    func expressionOperand(
        _ value: GraphQLLanguage.Value, type: ColumnType, in file: SourceFile, pattern: Operand.Pattern? = nil
    ) -> Operand? {
        let range = FileRange(range: value.range, file: file)
        guard let text = value.stringValue else {
            error(
                .expression, at: range,
                value.variableName == nil
                    ? "expected a string with a CEL expression" : "an expression must be a literal, not a variable")
            return nil
        }
        return expressionOperand(text, type: type, at: range, pattern: pattern)
    }

    func expressionOperand(
        _ text: String, type: ColumnType, at range: FileRange, pattern: Operand.Pattern? = nil
    ) -> Operand? {
        let isUUIDCall = text.filter { !$0.isWhitespace } == "uuidV4()"
        if isUUIDCall {
            guard operation.kind == .mutation else {
                error(.expression, at: range, "uuidV4() is only allowed in mutations")
                return nil
            }
            guard type == ColumnType(.uuid) || type == ColumnType(.string) else {
                error(.expression, at: range, "uuidV4() yields a UUID, expected \(InputType(type).text)")
                return nil
            }
            return Operand(.freshUUID(index: nextUUIDIndex()), type: type, schema: schema)
        }
        guard var program = expression(text, expecting: nil, at: range, in: .value) else { return nil }
        if let deduced = try? ExpressionProgram.environment.deduceType(text), !DefaultExpression.mayFit(deduced, type) {
            error(
                .expression, at: range,
                "the expression yields \(deduced.description), expected \(InputType(type).text)")
            return nil
        }
        program.enums = schema.enums
        findings.values.append(program)
        return Operand(.expression(program), type: type, schema: schema, pattern: pattern)
    }

    /// The context of an expression, which determines what it may read.
    enum ExpressionContext {
        /// `@auth`, evaluated before anything runs.
        case auth
        /// A value of an argument or of data.
        case value
        /// `@check`
        case check
    }

    /// Compiles an expression, marks the variables that it reads, and rejects names that never have a value.
    func expression(
        _ text: String, expecting: CELType?, at range: FileRange, in location: ExpressionContext
    ) -> ExpressionProgram? {
        let program: ExpressionProgram
        do {
            program = try ExpressionProgram(text, expecting: expecting)
        } catch {
            report(error, of: text, .expression, at: range)
            return nil
        }
        if expecting == .bool, let type = type(ofPath: text), type != "Boolean", type != "Any" {
            self.error(
                .expression, at: range, "the expression must yield a boolean, but \(text) is of type \(type)",
                help: "compare it, as in \(text) != nil")
            return nil
        }
        for name in program.variablesRead {
            findings.usedVariables.insert(name)
            guard !context.declaredNames.contains(name) else { continue }
            error(
                .undefinedVariable, at: range, "the expression reads vars.\(name), which is not declared",
                help: DidYouMean.help(name, among: operation.variables.map(\.name.value)))
        }
        let requestFields = ["time", "operationName", "auth", "variables"]
        for attribute in program.program.attributes where attribute.root == "request" {
            guard let field = attribute.fields.first, !requestFields.contains(field) else { continue }
            error(
                .expression, at: range, "an expression of an operation cannot read request.\(field)",
                help: "it can read auth, vars, request.time and request.operationName")
        }
        for name in program.unknownAuthFields.sorted() {
            error(
                .expression, at: range, "there is no auth.\(name)",
                help: DidYouMean.help(name, among: AuthBinding.fields) ?? "auth has uid and token")
        }
        if program.readsThis, location != .check {
            error(.expression, at: range, "\"this\" is only available in @check")
        }
        if program.readsResponse, location == .auth || (location == .value && operation.kind != .mutation) {
            error(
                .expression, at: range,
                "\"response\", the results of earlier fields of a mutation, is not available here",
                help: "it is available in @check and in values of a mutation")
        } else if location == .check, !context.mayLackFragments {
            for key in program.responseKeys.subtracting(rootKeys).sorted() {
                error(
                    .expression, at: range, "\"response\" has no \"\(key)\": the operation has no such field",
                    help: DidYouMean.help(key, among: rootKeys.sorted()))
            }
        } else if location == .value {
            for key in program.responseKeys.subtracting(keysBefore).sorted() {
                error(
                    .expression, at: range,
                    "\"response\" has no \"\(key)\" here: fields run in order, and no earlier field has this name",
                    help: DidYouMean.help(key, among: keysBefore))
            }
        }
        return program
    }
}
