import Operations

/// Plans of an operation whose SQL depends on what filter, order or data variables bring: one for each form of these
/// values that was met, see `InputInterpreter.form`. Bounded like every cache of statements.
struct DynamicPlans<Plan: Sendable>: Sendable {
    let variables: [DynamicVariable]
    private let make: @Sendable (Variables) -> Plan
    private let cache = ShapeCache<String, Plan>()

    /// - Parameter make: the plan for one request; its variables are only looked at for their form.
    init(_ variables: [DynamicVariable], make: @escaping @Sendable (Variables) -> Plan) {
        self.variables = variables
        self.make = make
    }

    /// Requests with equal forms have one plan.
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

    var evictionCount: Int { cache.evictionCount }
}
