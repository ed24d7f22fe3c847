/// An enumeration of the schema. A value that the app does not know yet is kept in a case of its own, so that old apps
/// survive new values and an exhaustive `switch` has a place for them. Source: SDK specification §1, row 11.
///
///     public enum Grade: OpenEnum {
///         case MINT, GOOD
///         case _UNKNOWN(String)
///         …
///     }
public protocol OpenEnum: ResultValue, VariableValue {
    /// Never fails: an unknown name becomes the case for unknown values.
    init(name: String)
    /// The name in the schema.
    var name: String { get }
    /// The values that the app knows, in the order of the schema.
    static var knownCases: [Self] { get }
}

extension OpenEnum {
    public init(result value: AnyValue) throws(ResultError) { self.init(name: try String(result: value)) }
    public var variableValue: AnyValue { name.variableValue }
}
