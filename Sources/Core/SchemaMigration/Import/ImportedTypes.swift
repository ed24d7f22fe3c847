import JSON
import SchemaModel

/// The GraphQL type of a column, and its default.
struct ImportedType: Sendable {
    /// `String`, `[Int!]`, without `!` at the end.
    let text: String
    let scalar: String
    let isList: Bool
    /// `@col` arguments: `dataType: "smallint"`.
    let arguments: [String]

    /// - Parameters:
    ///   - type: the type as `DatabaseDescription.Column` has it.
    ///   - enums: GraphQL names by SQL name; nil for those that GraphQL cannot name.
    ///   - isNumbered: whether a sequence numbers it.
    init(_ type: String, enums: [String: String?], isNumbered: Bool) {
        isList = type.hasSuffix("[]")
        let element = isList ? String(type.dropLast(2)) : type
        var dataType: String?
        var size: Int?
        let base = element.prefix { $0 != "(" }
        switch element {
        case "uuid": scalar = "UUID"
        case "text": scalar = "String"
        case "integer":
            scalar = "Int"
            if isNumbered { dataType = "serial" }
        case "smallint":
            scalar = "Int"
            dataType = isNumbered ? "smallserial" : "smallint"
        case "bigint":
            scalar = "Int64"
            if isNumbered { dataType = "bigserial" }
        case "double precision": scalar = "Float"
        case "real": (scalar, dataType) = ("Float", "real")
        case "boolean": scalar = "Boolean"
        case "date": scalar = "Date"
        case "timestamp with time zone": scalar = "Timestamp"
        case "jsonb": scalar = "Any"
        case "json": (scalar, dataType) = ("Any", "json")
        case _ where base == "numeric": (scalar, dataType) = ("Float", element)
        case _ where element.hasPrefix("timestamp"): (scalar, dataType) = ("Timestamp", element)
        case _ where base == "vector" && !isList:
            scalar = "Vector"
            size = Int(element.dropFirst("vector(".count).dropLast())
        case _ where enums[element] != nil:
            let name = enums[element] ?? nil
            scalar = name ?? "String"
            if name == nil { dataType = SQLName.quoted(element) }
        default: (scalar, dataType) = ("String", element)
        }
        text = isList ? "[\(scalar)!]" : scalar
        arguments =
            (dataType.map { ["dataType: \(ImportedSchema.literal($0))"] } ?? []) + (size.map { ["size: \($0)"] } ?? [])
    }

    /// The directive for a default of the database, which `sql` is as `pg_get_expr` prints it.
    func defaultDirective(_ sql: String) -> String {
        switch (sql, scalar) {
        case ("gen_random_uuid()", "UUID"), ("uuid_generate_v4()", "UUID"): return "@default(expr: \"uuidV4()\")"
        case ("now()", "Timestamp"), ("CURRENT_TIMESTAMP", "Timestamp"): return "@default(expr: \"request.time\")"
        case ("CURRENT_DATE", "Date"): return "@default(expr: \"request.time\")"
        default: break
        }
        if let value = constant(sql) { return "@default(value: \(value))" }
        return "@default(sql: \(ImportedSchema.literal(sql)))"
    }

    /// A constant as a literal of GraphQL; nil if it is no constant of this type.
    private func constant(_ sql: String) -> String? {
        guard let text = Self.quoted(sql) ?? Self.plain(sql) else { return nil }
        if isList { return text == "{}" ? "[]" : nil }
        switch scalar {
        case "Int", "Int64": return Int64(text).map(String.init)
        case "Float": return Double(text).map { "\($0)" }
        case "Boolean": return ["true", "false"].contains(text) ? text : nil
        case "String", "UUID", "Date", "Timestamp": return Self.quoted(sql).map(ImportedSchema.literal)
        case "Any": return (try? JSONParser.parse(text)).flatMap(Self.literal)
        case "Vector": return nil
        default: return Self.quoted(sql)
        }
    }

    /// The text within `'text'::type`.
    private static func quoted(_ sql: String) -> String? {
        guard sql.hasPrefix("'") else { return nil }
        var text = ""
        var rest = sql.dropFirst()
        while let character = rest.popFirst() {
            guard character == "'" else {
                text.append(character)
                continue
            }
            if rest.first == "'" {
                text.append("'")
                rest.removeFirst()
            } else {
                return rest.isEmpty || rest.hasPrefix("::") ? text : nil
            }
        }
        return nil
    }

    /// A number, `true` or `false`, perhaps in parentheses and with a cast.
    private static func plain(_ sql: String) -> String? {
        var text = sql[...]
        if let cast = text.firstRange(of: "::") { text = text[..<cast.lowerBound] }
        let bare = text.filter { $0 != "(" && $0 != ")" }
        return bare == "true" || bare == "false" || Double(bare) != nil ? String(bare) : nil
    }

    /// A JSON value as a literal of GraphQL; nil if a member has another name than GraphQL allows.
    private static func literal(_ value: JSONValue) -> String? {
        switch value {
        case .object(let object):
            var members: [String] = []
            for entry in object {
                guard ImportedNames.isName(entry.key), let text = literal(entry.value) else { return nil }
                members.append("\(entry.key): \(text)")
            }
            return "{\(members.joined(separator: ", "))}"
        case .array(let elements):
            let texts = elements.compactMap(literal)
            return texts.count == elements.count ? "[\(texts.joined(separator: ", "))]" : nil
        case .null, .bool, .int, .double, .string: return value.description
        }
    }
}

/// GraphQL names for SQL names.
enum ImportedNames {
    static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return text.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF) && $0 < 0x80 || $0 == 0x5F
        }
    }

    /// `order_item` → `orderItem`; what GraphQL does not allow is left out.
    static func field(_ name: String) -> String {
        let words = words(name)
        let text = (words.first ?? "") + words.dropFirst().map(capitalized).joined()
        let start = text.prefix(1).lowercased() + text.dropFirst()
        return start.isEmpty || start.first?.isNumber == true ? "column" + capitalized(start) : start
    }

    /// The type of a table: `order_items` → `OrderItem`, if the plural of that leads back.
    static func type(_ name: String) -> String {
        let text = words(name).map(capitalized).joined()
        let whole = text.isEmpty || text.first?.isNumber == true ? "Table" + text : text
        for (ending, replacement) in [("ies", "y"), ("ses", "s"), ("xes", "x"), ("hes", "h"), ("s", "")]
        where whole.hasSuffix(ending) {
            let singular = whole.dropLast(ending.count) + replacement
            let camel = singular.prefix(1).lowercased() + singular.dropFirst()
            if EnglishPlural.of(camel) == whole.prefix(1).lowercased() + whole.dropFirst() { return String(singular) }
        }
        return whole
    }

    static func enumeration(_ name: String) -> String { words(name).map(capitalized).joined() }

    /// Words of letters and digits. A word that is not all in small letters keeps its form.
    private static func words(_ name: String) -> [String] {
        name.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }.map(String.init)
    }

    static func capitalized(_ word: String) -> String { word.prefix(1).uppercased() + word.dropFirst() }

    /// Returns the name with digits appended if it is taken, and adds it.
    static func unique(_ name: String, _ taken: inout Set<String>) -> String {
        var (candidate, number) = (name, 2)
        while !taken.insert(candidate).inserted {
            candidate = "\(name)\(number)"
            number += 1
        }
        return candidate
    }
}
