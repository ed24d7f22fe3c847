/// Prints an enum of the schema, in both flavours of Swift: with a case for values that the code does not know.
struct SwiftEnum {
    let type: EnumDescription
    /// The protocols that it conforms to.
    let conformances: String
    /// The name of the property with the value's name, and of the initializer's argument.
    let property: String
    /// Whether there is `knownCases`.
    let listsCases: Bool

    func declare(in writer: inout CodeWriter) {
        let name = Naming.pascal(type.name)
        let cases = type.values.map { ".\(SwiftText.name($0))" }
        writer.line("/// A value that this code does not know yet is `_UNKNOWN`.")
        writer.block("public enum \(name): \(conformances) {") { writer in
            for value in type.values { writer.line("case \(SwiftText.name(value))") }
            writer.line("case _UNKNOWN(String)")
            if listsCases {
                writer.line()
                writer.line(writer.wrapping("public static let knownCases: [\(name)] = [", cases, "]", mayTrail: true))
            }
            writer.line()
            writer.block("public init(\(property): String) {") { writer in
                writer.line("switch \(property) {")
                for (value, name) in zip(type.values, cases) {
                    writer.line("case \(SwiftText.literal(value)): self = \(name)")
                }
                writer.line("default: self = ._UNKNOWN(\(property))")
                writer.line("}")
            }
            writer.line()
            writer.block("public var \(property): String {") { writer in
                writer.line("switch self {")
                for (value, name) in zip(type.values, cases) {
                    writer.line("case \(name): return \(SwiftText.literal(value))")
                }
                writer.line("case ._UNKNOWN(let value): return value")
                writer.line("}")
            }
        }
    }
}
