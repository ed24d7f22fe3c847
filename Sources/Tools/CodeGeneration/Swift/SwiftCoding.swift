/// Prints the coding of generated structs through the SDK's `CodecHelper`.
enum SwiftCoding {
    struct Member {
        var name: String
        /// The type of a value, without `?`.
        var type: String
        var valueType: ValueType
        var isOptional = false
        /// Whether a result may lack it.
        var mayBeAbsent = false
    }

    static func codingKeys(_ members: [Member], in writer: inout CodeWriter) {
        guard !members.isEmpty else { return }
        writer.line()
        writer.block("enum CodingKeys: String, CodingKey {") { writer in
            for member in members { writer.line("case \(SwiftText.name(member.name))") }
        }
    }

    static func decode(_ members: [Member], in writer: inout CodeWriter) {
        writer.line()
        guard !members.isEmpty else {
            writer.line("public init(from decoder: any Decoder) throws {}")
            return
        }
        writer.block("public init(from decoder: any Decoder) throws {") { writer in
            writer.line("var container = try decoder.container(keyedBy: CodingKeys.self)")
            if usesHelper(members) { writer.line("let codecHelper = CodecHelper<CodingKeys>()") }
            for member in members { writer.line("self.\(member.name) = \(decoding(member))") }
        }
    }

    /// Lists of texts are decoded without the helper.
    private static func usesHelper(_ members: [Member]) -> Bool {
        members.contains { textCoder(of: $0.valueType) == nil }
    }

    private static func decoding(_ member: Member) -> String {
        let key = ".\(SwiftText.name(member.name))"
        let optional = member.isOptional ? "?" : ""
        var text: String
        if let texts = textCoder(of: member.valueType) {
            text = "try \(texts).decode([String]\(optional).self, forKey: \(key), container: &container)"
        } else {
            text = "try codecHelper.decode(\(member.type)\(optional).self, forKey: \(key), container: &container)"
        }
        if member.mayBeAbsent { text = "!container.contains(\(key)) ? nil : \(text)" }
        return text
    }

    /// - Parameter isSet: for members that are property wrappers and may be unsent.
    static func encode(_ members: [Member], isSet: Set<String> = [], in writer: inout CodeWriter) {
        writer.line()
        guard !members.isEmpty else { return }
        writer.block("public func encode(to encoder: any Encoder) throws {") { writer in
            writer.line("var container = encoder.container(keyedBy: CodingKeys.self)")
            writer.line("let codecHelper = CodecHelper<CodingKeys>()")
            for member in members {
                let name = "self.\(member.name)"
                let value = textCoder(of: member.valueType).map { "\($0).texts(\(name))" } ?? name
                let call =
                    "try codecHelper.encode(\(value), forKey: .\(SwiftText.name(member.name)), container: &container)"
                if isSet.contains(member.name) {
                    writer.block("if $\(member.name).isSet {") { $0.line(call) }
                } else {
                    writer.line(call)
                }
            }
        }
    }

    // MARK: Lists of what travels as text

    /// The helper for a list of UUIDs or 64-bit integers, which `CodecHelper` converts only outside lists.
    private static func textCoder(of type: ValueType) -> String? {
        guard case .list(.scalar(let scalar), hasNullableElements: false) = type else { return nil }
        return switch scalar {
        case .uuid: "UUIDTexts"
        case .int64: "Int64Texts"
        default: nil
        }
    }

    static func needsTexts(_ type: ValueType) -> Bool { textCoder(of: type) != nil }

    static func declareTexts(in writer: inout CodeWriter) {
        writer.line(
            """
            /// Codes lists of UUIDs as the server writes them: 32 digits without dashes.
            enum UUIDTexts {
              static func decode<Key: CodingKey>(
                _ type: [String].Type, forKey key: Key, container: inout KeyedDecodingContainer<Key>
              ) throws -> [UUID] {
                try container.decode(type, forKey: key).map { text in
                  var digits = Array(text.filter { $0 != "-" })
                  if digits.count == 32 { for place in [20, 16, 12, 8] { digits.insert("-", at: place) } }
                  guard let value = UUID(uuidString: String(digits)) else {
                    throw DecodingError.dataCorruptedError(
                      forKey: key, in: container, debugDescription: "\\(text) is not a UUID")
                  }
                  return value
                }
              }

              static func decode<Key: CodingKey>(
                _ type: [String]?.Type, forKey key: Key, container: inout KeyedDecodingContainer<Key>
              ) throws -> [UUID]? {
                guard try !container.decodeNil(forKey: key) else { return nil }
                return try decode([String].self, forKey: key, container: &container)
              }

              static func texts(_ values: [UUID]) -> [String] {
                values.map { $0.uuidString.lowercased().replacingOccurrences(of: "-", with: "") }
              }

              static func texts(_ values: [UUID]?) -> [String]? {
                guard let values else { return nil }
                return texts(values)
              }
            }

            /// Codes lists of 64-bit integers, which are texts in JSON.
            enum Int64Texts {
              static func decode<Key: CodingKey>(
                _ type: [String].Type, forKey key: Key, container: inout KeyedDecodingContainer<Key>
              ) throws -> [Int64] {
                try container.decode(type, forKey: key).map { text in
                  guard let value = Int64(text) else {
                    throw DecodingError.dataCorruptedError(
                      forKey: key, in: container, debugDescription: "\\(text) is not a 64-bit integer")
                  }
                  return value
                }
              }

              static func decode<Key: CodingKey>(
                _ type: [String]?.Type, forKey key: Key, container: inout KeyedDecodingContainer<Key>
              ) throws -> [Int64]? {
                guard try !container.decodeNil(forKey: key) else { return nil }
                return try decode([String].self, forKey: key, container: &container)
              }

              static func texts(_ values: [Int64]) -> [String] { values.map(String.init) }
              static func texts(_ values: [Int64]?) -> [String]? { values.map { $0.map(String.init) } }
            }
            """)
    }
}
