/// Prints one operation for the Android SDK: `interface ListMoviesQuery` with `Variables` and `Data`, and the
/// extensions `ref`, `execute` and, for queries, `flow`.
struct KotlinOperation {
    let operation: OperationDescription
    /// The name of the connector's interface.
    let connector: String

    static func name(of operation: OperationDescription) -> String {
        Naming.pascal(operation.name) + (operation.kind == .query ? "Query" : "Mutation")
    }

    /// `Unit` without variables.
    static func variables(of operation: OperationDescription) -> String {
        operation.variables.isEmpty ? "Unit" : "\(name(of: operation)).Variables"
    }

    private static let optional = "\(KotlinText.sdk).OptionalVariable"

    private var name: String { Self.name(of: operation) }
    private var kind: String { operation.kind == .query ? "Query" : "Mutation" }
    private var hasOptional: Bool { !operation.optionalVariables.isEmpty }

    func declare(in writer: inout CodeWriter) {
        if operation.kind == .query {
            writer.line("import kotlinx.coroutines.flow.filterNotNull as _flow_filterNotNull")
            writer.line("import kotlinx.coroutines.flow.map as _flow_map")
            writer.line()
        }
        if let documentation = operation.documentation {
            writer.line("/**")
            for line in documentation.replacing("*/", with: "* /").split(
                separator: "\n", omittingEmptySubsequences: false)
            {
                writer.line(" * \(line.trimmingSpaces)".trimmingEnd)
            }
            writer.line(" */")
        }
        let variables = operation.variables.isEmpty ? "Unit" : "\(name).Variables"
        writer.block(
            "public interface \(name) :\n  \(KotlinText.sdk).generated.Generated\(kind)<\n    \(connector),"
                + " \(name).Data, \(variables)\n  > {"
        ) { writer in
            if !operation.variables.isEmpty {
                declareVariables(in: &writer)
                writer.line()
            }
            Self.declare(operation.result, as: "Data", in: &writer)
            writer.line()
            writer.block("public companion object {") { writer in
                writer.line("public val operationName: String = \(KotlinText.literal(operation.name))")
                writer.line()
                writer.line("public val dataDeserializer: kotlinx.serialization.DeserializationStrategy<Data> =")
                writer.line("  kotlinx.serialization.serializer()")
                writer.line()
                let type = operation.variables.isEmpty ? "Unit" : "Variables"
                writer.line("public val variablesSerializer: kotlinx.serialization.SerializationStrategy<\(type)> =")
                writer.line("  kotlinx.serialization.serializer()")
            }
        }
        writer.line()
        declareCalls(in: &writer)
    }

    // MARK: Variables

    private static func optionalType(_ variable: VariableDescription) -> String {
        KotlinText.type(variable.type) + (variable.isNullable ? "?" : "")
    }

    private func declareVariables(in writer: inout CodeWriter) {
        let properties = operation.variables.map { variable -> (name: String, type: String) in
            let type = KotlinText.serialized(variable.type)
            return (
                KotlinText.name(variable.name),
                variable.isRequired ? type : "\(Self.optional)<\(type)\(variable.isNullable ? "?" : "")>"
            )
        }
        guard hasOptional else {
            KotlinText.dataClass("Variables", properties, in: &writer)
            return
        }
        KotlinText.dataClass("Variables", properties, in: &writer) { declareBuilder(in: &$0) }
    }

    /// The builder that tells variables that are not sent from those that are null.
    private func declareBuilder(in writer: inout CodeWriter) {
        writer.line("@kotlin.DslMarker public annotation class BuilderDsl")
        writer.line()
        writer.line("@BuilderDsl")
        writer.block("public interface Builder {") { writer in
            for variable in operation.variables {
                let type = variable.isRequired ? KotlinText.type(variable.type) : Self.optionalType(variable)
                writer.line("public var \(KotlinText.name(variable.name)): \(type)")
            }
        }
        writer.line()
        writer.block("public companion object {") { writer in
            let parameters = operation.requiredVariables.map {
                "\(KotlinText.name($0.name)): \(KotlinText.type($0.type)), "
            }.joined()
            writer.block("public fun build(\(parameters)block_: Builder.() -> Unit): Variables {") { writer in
                for variable in operation.variables {
                    let type = "\(Self.optional)<\(Self.optionalType(variable))>"
                    writer.line(
                        variable.isRequired
                            ? "var \(variable.name)_ = \(KotlinText.name(variable.name))"
                            : "var \(variable.name)_: \(type) = \(Self.optional).Undefined")
                }
                writer.line()
                writer.block("object : Builder {", "}.block_()") { writer in
                    for variable in operation.variables {
                        let name = KotlinText.name(variable.name)
                        let type = variable.isRequired ? KotlinText.type(variable.type) : Self.optionalType(variable)
                        writer.line("override var \(name): \(type)")
                        writer.line(
                            "  get() = throw UnsupportedOperationException(\"builders have no values to read\")")
                        let value = variable.isRequired ? "value_" : "\(Self.optional).Value(value_)"
                        writer.line("  set(value_) { \(variable.name)_ = \(value) }")
                    }
                }
                let arguments = operation.variables.map {
                    "\(KotlinText.name($0.name)) = \($0.name)_"
                }
                writer.line("return Variables(\(arguments.joined(separator: ", ")))")
            }
        }
    }

    // MARK: Data

    private static func declare(_ shape: ObjectShape, as name: String, in writer: inout CodeWriter) {
        var taken: Set<String> = [name]
        var inner: [(name: String, shape: ObjectShape)] = []
        let properties = shape.fields.map { field -> (name: String, type: String) in
            var object = ""
            if let shape = field.type.shape {
                let suffix = if case .list = field.type { "Item" } else { "" }
                object = Naming.unique(Naming.pascal(field.name) + suffix, &taken)
                inner.append((object, shape))
            }
            let mark = field.isNullable || field.mayBeAbsent ? "?" : ""
            return (
                KotlinText.name(field.name),
                KotlinText.serialized(field.type, object: object) + mark + (field.mayBeAbsent ? " = null" : "")
            )
        }
        guard !inner.isEmpty else {
            KotlinText.dataClass(name, properties, in: &writer)
            return
        }
        KotlinText.dataClass(name, properties, in: &writer) { writer in
            for (index, entry) in inner.enumerated() {
                if index > 0 { writer.line() }
                declare(entry.shape, as: entry.name, in: &writer)
            }
        }
    }

    // MARK: Calls

    private func declareCalls(in writer: inout CodeWriter) {
        let variables = Self.variables(of: operation)
        let types = "\(name).Data, \(variables)"
        var parameters = operation.requiredVariables.map {
            "\(KotlinText.name($0.name)): \(KotlinText.type($0.type))"
        }
        var arguments = operation.requiredVariables.map { "\(KotlinText.name($0.name)) = \(KotlinText.name($0.name))" }
        if hasOptional {
            parameters.append("block_: \(name).Variables.Builder.() -> Unit = {}")
            arguments.append("block_ = block_")
        }
        let list = parameters.isEmpty ? "()" : "(\n  \(parameters.joined(separator: ",\n  "))\n)"
        let passed = arguments.joined(separator: ", ")
        writer.line("public fun \(name).ref\(list): \(KotlinText.sdk).\(kind)Ref<\(types)> =")
        if operation.variables.isEmpty {
            writer.line("  this.ref(Unit)")
        } else {
            writer.line("  this.ref(\(name).Variables\(hasOptional ? ".build" : "")(\(passed)))")
        }
        writer.line()
        writer.line("public suspend fun \(name).execute\(list): \(KotlinText.sdk).\(kind)Result<\(types)> =")
        writer.line("  this.ref(\(passed)).execute()")
        guard operation.kind == .query else { return }
        writer.line()
        writer.line("public fun \(name).flow\(list): kotlinx.coroutines.flow.Flow<\(name).Data> =")
        writer.line("  this.ref(\(passed))")
        writer.line("    .subscribe()")
        writer.line("    .flow")
        writer.line("    ._flow_map { it.result.getOrNull() }")
        writer.line("    ._flow_filterNotNull()")
        writer.line("    ._flow_map { it.data }")
    }
}
