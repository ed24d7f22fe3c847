import GraphQLLanguage

/// The SQL type that `@col(dataType:)` gives a column, checked against its GraphQL type.
///
/// A type is native to a scalar if values travel in it unchanged, such as `varchar(40)` for String. Any other type that
/// Postgres casts to and from the scalar's is converted: `citext` for String, `numeric` for Int64, `jsonb` for a list.
/// Names are spelt as `format_type` prints them, so that a database can be compared with the schema.
package struct ColumnDataType: Sendable, Hashable {
    /// How values are converted between a column and the standard type of its scalar.
    package enum Conversion: Sendable, Hashable {
        /// Casts between the two types.
        /// - Parameter throughText: whether the cast goes through `text`, which Postgres offers for every type.
        case cast(Comparison, throughText: Bool)
        /// A list stored as one JSON array.
        case jsonArray
    }

    /// The type in which filters compare a converted column with a value of the request.
    package enum Comparison: Sendable, Hashable {
        /// Postgres compares the two types directly: `numeric` and `integer`.
        case direct
        /// The column's type, whose equality may differ from that of texts: `citext`.
        case stored
        /// The standard type of the scalar, since the column's type has no suitable order.
        case standard
    }

    /// The type's name, `character varying(40)`; the element type for lists, unless `conversion` is `.jsonArray`.
    /// `integer` for `serial`.
    package let name: String
    /// The type without its parameters, to which values are cast before they are stored or compared: an explicit cast
    /// to `varchar(2)` would cut them, and an assignment refuses them.
    package let castName: String
    private(set) var isSerial: Bool
    /// Nil if the type is native to the scalar.
    package let conversion: Conversion?
    /// The Postgres extension that has the type: `citext`.
    package let extensionName: String?
    /// Whether the type is among those that this version knows. Others are cast through `text`.
    package let isKnown: Bool
    /// Whether the type holds texts, which full-text search can read.
    let isText: Bool
    /// Whether values that Postgres takes for equal, or stores alike, may have different texts: `A` and `a` in
    /// `citext`, 1.24 and 1.2 in `numeric(2,1)`.
    package let hasEqualTexts: Bool
    /// Whether blanks at the end of a text do not count, such as those that fill up a `char(n)`.
    package let ignoresTrailingBlanks: Bool

    /// Returns nil if the text is not a type, or a known type that Postgres cannot cast to and from the column's. A
    /// list type may be written with or without `[]`; `json` and `jsonb` hold the whole list.
    init?(_ text: String, for type: ColumnType) {
        guard var words = SQLTypeText(text) else { return nil }
        guard !words.isArray || type.isList else { return nil }
        if let known = KnownDataType.all[words.base] {
            if known.hasSecondDigits {
                words.parameters = words.parameters.map { min($0, KnownDataType.secondDigitsMax) }
            }
            guard known.takes(words.parameters), words.otherParameters == nil else { return nil }
            // In SQL, `char` means `char(1)`, and `numeric(20)` means `numeric(20,0)`.
            if ["character", "bit"].contains(known.name), words.parameters.isEmpty { words.parameters = [1] }
            if known.name == "numeric", words.parameters.count == 1 { words.parameters.append(0) }
            let isWholeList = type.isList && !words.isArray && known.family == .json
            guard isWholeList || known.fits(type.scalar) else { return nil }
            guard !known.isSerial || known.native == type.scalar else { return nil }
            name = words.spelt(as: known.name)
            castName = known.castName
            isSerial = known.isSerial
            extensionName = known.extensionName
            isKnown = true
            conversion =
                isWholeList
                ? .jsonArray
                : known.native == type.scalar
                    ? nil : .cast(known.comparison(with: type.scalar), throughText: false)
            isText = known.family == .text
            let isRounded = !words.parameters.isEmpty && [.number, .moment].contains(known.family)
            hasEqualTexts =
                (conversion != nil && known.family != .text) || isRounded
                || ["character", "bpchar", "citext", "name", "real"].contains(known.name)
            ignoresTrailingBlanks = ["character", "bpchar"].contains(known.name)
        } else {
            name = words.spelt(as: words.base)
            castName = words.base
            isSerial = false
            extensionName = nil
            isKnown = false
            conversion = .cast(.standard, throughText: true)
            hasEqualTexts = true
            ignoresTrailingBlanks = false
            isText = false
        }
    }

    /// The type of a column that refers to one of this type: `integer` for `serial`.
    var referring: ColumnDataType {
        var type = self
        type.isSerial = false
        return type
    }

    /// The most dimensions that pgvector supports in a `vector`.
    package static let vectorSizeMax: Int64 = 16_000

    /// Reads `@col` of a field: its `dataType`, or the type that its `size` implies. Returns nil if it gives neither.
    init?(of field: DeclaredField, _ type: ColumnType, enums: [String: EnumType]) {
        guard let col = field.directive("col") else { return nil }
        if let text = col.string("dataType") {
            if Self.isEnum(text, type, enums) { return nil }
            self.init(text, for: type)
            return
        }
        guard let size = col.value("size")?.intValue else { return nil }
        switch type.scalar {
        case .string: self.init("varchar(\(size))", for: type)
        case .vector: self.init("vector(\(size))", for: type)
        case .uuid, .int, .int64, .float, .boolean, .date, .timestamp, .any, .enumeration: return nil
        }
    }

    /// Whether a foreign key may refer from a column of this type to one of another: Postgres compares them, and values
    /// are converted alike. Nil stands for the standard type of the scalar.
    static func fit(_ one: ColumnDataType?, _ other: ColumnDataType?) -> Bool {
        if one?.conversion == nil, other?.conversion == nil { return true }
        guard let one, let other, one.conversion == other.conversion else { return false }
        let areTexts = one.isText && other.isText && ![one.castName, other.castName].contains("citext")
        return areTexts || one.castName == other.castName
    }

    /// Returns the types that may be given, for help texts: those native to the scalar first. `interval` stands for all
    /// of its kinds.
    static func names(for type: ColumnType) -> [String] {
        let fitting = KnownDataType.all.filter {
            $0.value.fits(type.scalar) && !($0.value.isSerial && (type.isList || $0.value.native != type.scalar))
                && !$0.key.hasPrefix("interval ")
        }
        let native = fitting.filter { $0.value.native == type.scalar }.map(\.key).sorted()
        let converted = fitting.filter { $0.value.native != type.scalar }.map(\.key).sorted()
        return (native + converted).map { type.isList ? $0 + "[]" : $0 }
    }

    /// Returns what follows the type in the text, such as `CHECK (a > 0)`, which no column gets: SQL Connect accepts it
    /// and leaves it out, too. Nil if nothing does.
    static func ignoredPart(of text: String) -> String? { SQLTypeText.constraints(of: text)?.text }

    /// Returns whether the text names the column's own enum type, which it has anyway.
    static func isEnum(_ text: String, _ type: ColumnType, _ enums: [String: EnumType]) -> Bool {
        guard case .enumeration(let name) = type.scalar else { return false }
        let own = enums[name]?.name ?? GeneratedNames.snakeCase(name)
        let names = [own, SQLName.quoted(own), name, SQLName.quoted(name)]
        return (type.isList ? names + names.map { $0 + "[]" } : names).contains(text)
    }
}

/// The parts of an SQL type as a schema spells it: `Time (3) with time zone[]`.
private struct SQLTypeText {
    /// The name in lower case, without parameters: `time with time zone`. Quoted names keep their letters.
    let base: String
    /// The numbers in parentheses.
    var parameters: [Int] = []
    /// The text in parentheses if it is more than numbers: `Point,4326`.
    private(set) var otherParameters: String?
    let isArray: Bool

    /// The words with which a constraint begins in a column's definition.
    private static let constraintWords: Set<String> = [
        "check", "collate", "compression", "constraint", "default", "deferrable", "generated", "initially", "not",
        "null",
        "primary", "references", "storage", "unique",
    ]

    /// Finds the constraints that follow the type in a column's definition.
    /// - Returns: the text before them, and theirs; nil if there are none.
    static func constraints(of text: String) -> (type: String, text: String)? {
        var (depth, isQuoted) = (0, false)
        for index in text.indices {
            switch text[index] {
            case "\"": isQuoted.toggle()
            case "(" where !isQuoted: depth += 1
            case ")" where !isQuoted: depth -= 1
            default: break
            }
            guard depth == 0, !isQuoted, text[index].isWhitespace || text[index] == ")" else { continue }
            let word = text.index(after: index)
            let name = text[word...].prefix { $0.isLetter || $0 == "_" }.lowercased()
            if constraintWords.contains(name) {
                let type = String(text[..<word]).trimmed
                return type.isEmpty ? nil : (type, String(text[word...]).trimmed)
            }
        }
        return nil
    }

    /// Returns nil for a text that cannot be a type. Constraints that follow the type are left out.
    init?(_ text: String) {
        let text = Self.constraints(of: text)?.type ?? text
        var words = text.contains("\"") ? text : text.lowercased()
        words = words.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        isArray = words.hasSuffix("[]")
        if isArray {
            words.removeLast(2)
            if words.last == " " { words.removeLast() }
        }
        var name = words
        if let open = words.firstIndex(of: "(") {
            guard let close = words[open...].firstIndex(of: ")") else { return nil }
            let list = words[words.index(after: open)..<close].filter { $0 != " " }
            let parts = list.split(separator: ",", omittingEmptySubsequences: false)
            parameters = parts.compactMap { Int($0) }
            if parameters.count < parts.count {
                guard list.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "," }) else { return nil }
                (parameters, otherParameters) = ([], list)
            }
            name = String(words[..<open] + words[words.index(after: close)...])
        }
        (base, parameters) = KnownDataType.usual(name.split(separator: " ").joined(separator: " "), parameters)
        guard Self.isName(base) else { return nil }
    }

    /// Returns the type with its parameters, which follow the first word of a name such as `time with time zone`, else
    /// the name.
    func spelt(as name: String) -> String {
        if let otherParameters { return "\(name)(\(otherParameters))" }
        guard !parameters.isEmpty else { return name }
        let list = "(\(parameters.map(String.init).joined(separator: ",")))"
        guard name.hasPrefix("time"), let space = name.firstIndex(of: " ") else { return name + list }
        return String(name[..<space]) + list + String(name[space...])
    }

    /// Words of letters, digits, `_` and `$`, or quoted names, with dots or single blanks between them.
    private static func isName(_ text: String) -> Bool {
        guard let first = text.first, first.isLetter || first == "_" || first == "\"" else { return false }
        var isQuoted = false
        for character in text {
            if character == "\"" {
                isQuoted.toggle()
            } else if !isQuoted, !(character.isLetter || character.isNumber || "_$. ".contains(character)) {
                return false
            }
        }
        return !isQuoted
    }
}

extension String {
    fileprivate var trimmed: String {
        var rest = self[...]
        while rest.first?.isWhitespace == true { rest.removeFirst() }
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return String(rest)
    }
}
