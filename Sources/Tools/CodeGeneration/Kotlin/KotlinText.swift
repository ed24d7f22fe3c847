/// Prints names and types of Kotlin.
enum KotlinText {
    static let sdk = "com.google.firebase.dataconnect"

    private static let keywords: Set<String> = [
        "as", "break", "class", "continue", "do", "else", "false", "for", "fun", "if", "in", "interface", "is", "null",
        "object", "package", "return", "super", "this", "throw", "true", "try", "typealias", "typeof", "val", "var",
        "when", "while",
    ]

    static func name(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }

    static func literal(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("$", with: "\\$") + "\""
    }

    static func key(of typeName: String) -> String { Naming.pascal(typeName) + "Key" }

    /// The type of a parameter.
    static func type(_ type: ValueType, object: String = "") -> String { text(type, object, isSerialized: false) }

    /// The type of a property that is serialised, with its serialiser where it needs one.
    static func serialized(_ type: ValueType, object: String = "") -> String { text(type, object, isSerialized: true) }

    private static func text(_ type: ValueType, _ object: String, isSerialized: Bool) -> String {
        func with(_ serializer: String, _ type: String) -> String {
            isSerialized ? "@kotlinx.serialization.Serializable(with = \(serializer)::class) \(type)" : type
        }
        switch type {
        case .scalar(let scalar):
            switch scalar {
            case .string, .id: return "String"
            case .int: return "Int"
            case .int64: return "Long"
            case .float: return "Double"
            case .boolean: return "Boolean"
            case .uuid: return with("\(sdk).serializers.UUIDSerializer", "java.util.UUID")
            case .date: return "\(sdk).LocalDate"
            case .timestamp:
                return with("\(sdk).serializers.TimestampSerializer", "com.google.firebase.Timestamp")
            case .any: return "\(sdk).AnyValue"
            case .vector: return "List<Double>"
            }
        case .enumeration(let name):
            let name = Naming.pascal(name)
            return with("\(name).EnumValueSerializer", "EnumValue<\(name)>")
        case .key(let typeName): return key(of: typeName)
        case .input: return "\(sdk).AnyValue"
        case .object: return object
        case .list(let element, let hasNullableElements):
            return "List<\(text(element, object, isSerialized: isSerialized))\(hasNullableElements ? "?" : "")>"
        }
    }

    /// Declares a serialisable data class; one without properties is an object, since data classes need one.
    static func dataClass(
        _ name: String, _ properties: [(name: String, type: String)], in writer: inout CodeWriter,
        body: ((inout CodeWriter) -> Void)? = nil
    ) {
        writer.line("@kotlinx.serialization.Serializable")
        guard !properties.isEmpty else {
            writer.line("public data object \(name)")
            return
        }
        writer.block("public data class \(name)(", body == nil ? ")" : ") {") { writer in
            for property in properties { writer.line("val \(property.name): \(property.type),") }
        }
        guard let body else { return }
        writer.indented(body)
        writer.line("}")
    }
}

/// The enums of a connector, with the type of values that may be unknown to this code.
struct KotlinEnums {
    let enums: [EnumDescription]
    let package: String

    func text(_ header: String) -> String {
        var writer = CodeWriter(indentation: 2)
        writer.line(header)
        for type in enums {
            let name = Naming.pascal(type.name)
            writer.block("public enum class \(name) {") { writer in
                let values = type.values.map(KotlinText.name)
                for value in values.dropLast() { writer.line("\(value),") }
                if let last = values.last { writer.line("\(last);") }
                writer.line()
                writer.line("public object EnumValueSerializer :")
                writer.line("  \(package).EnumValueSerializer<\(name)>(\(name).entries)")
            }
            writer.line()
        }
        writer.line(
            """
            /** A value of an enum: [Known], or [Unknown] if the server has a value that this code lacks. */
            public sealed interface EnumValue<out T : Enum<out T>> {
              /** Null for [Unknown]. */
              public val value: T?

              /** The name that the server uses. */
              public val stringValue: String

              public data class Known<T : Enum<T>>(override val value: T) : EnumValue<T> {
                override val stringValue: String
                  get() = value.name
              }

              public data class Unknown(override val stringValue: String) : EnumValue<Nothing> {
                override val value: Nothing?
                  get() = null
              }
            }

            /** Reads and writes an [EnumValue] by name. */
            public open class EnumValueSerializer<T : Enum<T>>(private val values: Iterable<T>) :
              kotlinx.serialization.KSerializer<EnumValue<T>> {
              override val descriptor: kotlinx.serialization.descriptors.SerialDescriptor =
                kotlinx.serialization.descriptors.PrimitiveSerialDescriptor(
                  "EnumValue", kotlinx.serialization.descriptors.PrimitiveKind.STRING
                )

              override fun deserialize(
                decoder: kotlinx.serialization.encoding.Decoder
              ): EnumValue<T> {
                val name = decoder.decodeString()
                return values.firstOrNull { it.name == name }?.let { EnumValue.Known(it) } ?: EnumValue.Unknown(name)
              }

              override fun serialize(
                encoder: kotlinx.serialization.encoding.Encoder, value: EnumValue<T>
              ) {
                encoder.encodeString(value.stringValue)
              }
            }
            """)
        return writer.text
    }
}
