/// The extension libraries: functions beyond the standard ones, with the names and semantics of cel-go's `ext` package.
/// The work of each call is charged to its evaluation's budget.
enum Extensions {
    static let functions: [FunctionDeclaration] =
        StringFunctions.all + [FormatFunction.declaration] + MathFunctions.all + EncoderFunctions.all
        + ListFunctions.all + OptionalFunctions.all

    static let a = CELType.typeParameter("A")
    static let b = CELType.typeParameter("B")

    static func function(_ id: String, _ parameters: [CELType], _ result: CELType) -> Overload {
        Overload(id: id, parameters: parameters, result: result)
    }

    static func method(_ id: String, _ parameters: [CELType], _ result: CELType) -> Overload {
        Overload(id: id, parameters: parameters, result: result, isInstance: true)
    }
}

/// Typed access to a call's arguments; throws `noSuchOverload` on a mismatch.
extension [Value] {
    func text(_ index: Int) throws(EvaluationError) -> String {
        guard indices.contains(index), case .string(let text) = self[index] else {
            throw EvaluationError(.noSuchOverload)
        }
        return text
    }

    func int(_ index: Int) throws(EvaluationError) -> Int64 {
        guard indices.contains(index), case .int(let number) = self[index] else {
            throw EvaluationError(.noSuchOverload)
        }
        return number
    }

    func list(_ index: Int) throws(EvaluationError) -> [Value] {
        guard indices.contains(index), case .list(let elements) = self[index] else {
            throw EvaluationError(.noSuchOverload)
        }
        return elements
    }

    func optional(_ index: Int) throws(EvaluationError) -> Value? {
        guard indices.contains(index), case .optional(let inner) = self[index] else {
            throw EvaluationError(.noSuchOverload)
        }
        return inner
    }
}

extension Budget {
    /// Charges for producing a text; throws `sizeExceeded` if it is longer than allowed.
    mutating func charge(text bytes: Int, _ limits: Limits) throws(EvaluationError) {
        guard bytes <= limits.textBytesMax else { throw EvaluationError(.sizeExceeded) }
        try charge(bytes: bytes)
    }

    mutating func charge(elements count: Int, _ limits: Limits) throws(EvaluationError) {
        guard count <= limits.elementsMax else { throw EvaluationError(.sizeExceeded) }
        try charge(count)
    }
}
