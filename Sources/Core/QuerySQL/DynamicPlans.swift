import Operations

/// The plans of an operation whose SQL depends on variables with filters, orders or data: one per form of their values
/// (see `InputInterpreter.form`). Bounded by its `ShapeCache`.
struct DynamicPlans<Plan: Sendable>: Sendable {
    let variables: [DynamicVariable]
    private let make: @Sendable (Variables) -> Plan
    private let cache = ShapeCache<String, Plan>()

    /// - Parameter make: creates the plan for one request, of whose variables only the form matters.
    init(_ variables: [DynamicVariable], make: @escaping @Sendable (Variables) -> Plan) {
        self.variables = variables
        self.make = make
    }

    /// Returns the form of a request's variables; requests with equal forms share a plan.
    func form(of values: Variables) -> String {
        variables.map { variable in
            let value = values.value(variable.name, path: [])
            return variable.rows.map { InputInterpreter.form(of: value, $0) } ?? InputInterpreter.form(of: value)
        }
        .joined(separator: "|")
    }

    func plan(for values: Variables) -> Plan {
        cache.statement(for: form(of: values)) { make(values) }
    }
}
