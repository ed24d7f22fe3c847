/// Why an evaluation has no value. Carries no data of the evaluation, so it can be logged.
package struct EvaluationError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// A variable is unknown or the activation has no value for it.
        case noSuchAttribute
        case noSuchKey
        /// No operator or function takes these arguments, or a value has no fields or elements.
        case noSuchOverload
        case indexOutOfRange
        case overflow
        case divisionByZero
        /// A conversion or a time leaves the range of its type.
        case rangeError
        /// A text does not convert.
        case invalidConversion
        /// An argument of a function is malformed: a regular expression or a time zone.
        case invalidArgument
        case unsupportedKeyType
        case repeatedKey
        /// The cost of the evaluation reached `Limits.costMax`.
        case costExceeded
        /// A value grew beyond a limit of `Limits`.
        case sizeExceeded
        /// A function is declared without an implementation.
        case unboundFunction
    }

    package let code: Code
    /// UTF-8 byte offset in the source of the operation that failed; nil outside a program.
    package var offset: Int?

    package init(_ code: Code, offset: Int? = nil) {
        self.code = code
        self.offset = offset
    }

    package var description: String {
        offset.map { "\(code.rawValue) at byte \($0)" } ?? code.rawValue
    }
}
