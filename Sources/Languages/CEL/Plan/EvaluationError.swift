/// The reason why an evaluation failed. Contains no data of the evaluation, so it can be logged.
package struct EvaluationError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// The variable is unknown, or the activation has no value for it.
        case noSuchAttribute
        case noSuchKey
        /// No operator or function accepts these arguments, or the value has no fields or elements.
        case noSuchOverload
        case indexOutOfRange
        case overflow
        case divisionByZero
        /// The result of a conversion or of time arithmetic is out of range.
        case rangeError
        /// A text cannot be converted.
        case invalidConversion
        /// An argument is malformed: for example a regular expression or a time zone.
        case invalidArgument
        case unsupportedKeyType
        case repeatedKey
        /// The evaluation exceeded `Limits.costMax`.
        case costExceeded
        /// A value exceeded one of the size limits in `Limits`.
        case sizeExceeded
        /// The function is declared without an implementation.
        case unboundFunction
    }

    package let code: Code
    /// UTF-8 byte offset in the source of the failed operation; nil outside a program.
    package var offset: Int?

    package init(_ code: Code, offset: Int? = nil) {
        self.code = code
        self.offset = offset
    }

    package var description: String {
        offset.map { "\(code.rawValue) at byte \($0)" } ?? code.rawValue
    }
}
