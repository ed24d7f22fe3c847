@testable import CEL

/// The environment of conditions: what the rules of a query see.
let conditions = Environment(
    variables: [
        VariableDeclaration(name: "request", type: .map(.string, .dyn)),
        VariableDeclaration(name: "mutation", type: .map(.string, .dyn)),
        VariableDeclaration(name: "x", type: .dyn),
    ], nullSafePaths: [["request", "auth"], ["mutation", "auth"]], allowNilLiteral: true)

func object(_ entries: KeyValuePairs<String, Value>) -> Value {
    .map(MapValue(entries.map { ($0.key, $0.value) }))
}

/// Compiles in `conditions` and evaluates.
func evaluate(
    _ source: String, request: Value? = nil, mutation: Value? = nil, x: Value? = nil,
    in environment: Environment = conditions
) throws -> Value {
    try environment.compile(source).evaluate(SlotActivation([request, mutation, x]))
}

/// The code of the error that an evaluation ends with; nil when it has a value.
func errorCode(
    _ source: String, request: Value? = nil, mutation: Value? = nil, x: Value? = nil,
    in environment: Environment = conditions
) throws -> EvaluationError.Code? {
    let program = try environment.compileUnchecked(source)
    do throws(EvaluationError) {
        _ = try program.evaluate(SlotActivation([request, mutation, x]))
        return nil
    } catch {
        return error.code
    }
}

/// Messages with positions; empty when the source compiles.
func diagnostics(_ source: String, expecting: CELType? = nil, in environment: Environment = conditions) -> [String] {
    do throws(CompileFailure) {
        _ = try environment.compile(source, expecting: expecting)
        return []
    } catch {
        return error.diagnostics.map(\.description)
    }
}

/// Whether an expression without variables is true.
func isTrue(_ source: String) throws -> Bool {
    if case .bool(true) = try conditions.compileUnchecked(source).evaluate(SlotActivation([])) { true } else { false }
}

extension Environment {
    /// Parses and plans without type checking; unknown names and mismatched types become evaluation errors.
    func compileUnchecked(_ source: String) throws(CompileFailure) -> Program {
        let tree = try Parser.parse(source, limits: limits, options: options)
        return try Planner.plan(tree, type: .dyn, source: source, environment: self)
    }
}

extension Value {
    /// Returns whether CEL's `==` holds; false if the values are nested too deeply to compare.
    func celEquals(_ other: Value) -> Bool {
        var budget = Budget(remaining: .max)
        return (try? Value.equals(self, other, &budget)) ?? false
    }
}
