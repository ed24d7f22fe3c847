/// A variable that expressions may use. An `Activation` supplies its value by its index in `Environment.variables`.
package struct VariableDeclaration: Sendable, Hashable {
    /// A simple or dotted name.
    package let name: String
    package let type: CELType

    package init(name: String, type: CELType) {
        self.name = name
        self.type = type
    }
}

/// One signature of a function.
package struct Overload: Sendable {
    package let id: String
    package let parameters: [CELType]
    package let result: CELType
    /// Whether the overload is called as `receiver.f(…)`; the receiver is the first parameter.
    package let isInstance: Bool

    package init(id: String, parameters: [CELType], result: CELType, isInstance: Bool = false) {
        self.id = id
        self.parameters = parameters
        self.result = result
        self.isInstance = isInstance
    }
}

/// A function beyond the standard ones.
package struct FunctionDeclaration: Sendable {
    /// Computes the result from the arguments, receiver first. Must be pure and bounded in time.
    package typealias Implementation = @Sendable ([Value]) throws(EvaluationError) -> Value

    /// A simple or dotted name.
    package let name: String
    package let overloads: [Overload]
    /// An implementation that also receives the evaluation's budget and the environment's limits, for functions whose
    /// work depends on their arguments.
    typealias BoundedImplementation = @Sendable ([Value], inout Budget, Limits) throws(EvaluationError) -> Value
    /// Implements every overload; nil for a function that can be checked but not called.
    let bounded: BoundedImplementation?

    package init(name: String, overloads: [Overload], implementation: Implementation? = nil) {
        self.name = name
        self.overloads = overloads
        guard let implementation else {
            bounded = nil
            return
        }
        bounded = {
            (arguments: [Value], _: inout Budget, _: Limits) throws(EvaluationError) -> Value in
            try implementation(arguments)
        }
    }

    init(_ name: String, _ overloads: [Overload], _ implementation: @escaping BoundedImplementation) {
        self.name = name
        self.overloads = overloads
        bounded = implementation
    }
}
