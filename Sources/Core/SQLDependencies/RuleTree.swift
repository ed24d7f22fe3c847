/// The tree of a query as Postgres stores it in the rule of a view (`pg_rewrite.ev_action`). Source: `outfuncs.c` and
/// `read.c` of Postgres, which write and read the format.
///
///     {OPEXPR :opno 96 :args ({VAR :varattno 1} {CONST :constvalue 4 [ 1 0 0 0 ]})}
indirect enum RuleTree: Sendable {
    case node(String, [(field: String, values: [RuleTree])])
    case list([RuleTree])
    case word(String)

    struct Malformed: Error {}

    /// Deeper trees are refused.
    static let depthMax = 400

    static func parse(_ text: String) throws(Malformed) -> RuleTree {
        var reader = Reader(bytes: Array(text.utf8))
        guard let tree = try reader.tree(depth: 0) else { throw Malformed() }
        reader.skipSpaces()
        guard reader.index == reader.bytes.count else { throw Malformed() }
        return tree
    }

    private struct Reader {
        let bytes: [UInt8]
        var index = 0

        mutating func skipSpaces() {
            while index < bytes.count, Self.isSpace(bytes[index]) { index += 1 }
        }

        /// - Returns: nil before a closing bracket or at the end.
        mutating func tree(depth: Int) throws(Malformed) -> RuleTree? {
            guard depth < RuleTree.depthMax else { throw Malformed() }
            skipSpaces()
            guard index < bytes.count else { return nil }
            switch bytes[index] {
            case UInt8(ascii: ")"), UInt8(ascii: "}"): return nil
            case UInt8(ascii: "("):
                index += 1
                var elements: [RuleTree] = []
                while let element = try tree(depth: depth + 1) { elements.append(element) }
                try close(UInt8(ascii: ")"))
                return .list(elements)
            case UInt8(ascii: "{"):
                index += 1
                return try node(depth: depth)
            default: return .word(word())
            }
        }

        private mutating func node(depth: Int) throws(Malformed) -> RuleTree {
            skipSpaces()
            let name = word()
            guard !name.isEmpty else { throw Malformed() }
            var fields: [(field: String, values: [RuleTree])] = []
            while let value = try tree(depth: depth + 1) {
                if case .word(let word) = value, word.hasPrefix(":"), word.utf8.count > 1 {
                    fields.append((String(word.dropFirst()), []))
                } else {
                    guard !fields.isEmpty else { throw Malformed() }
                    fields[fields.count - 1].values.append(value)
                }
            }
            try close(UInt8(ascii: "}"))
            return .node(name, fields)
        }

        private mutating func close(_ bracket: UInt8) throws(Malformed) {
            guard index < bytes.count, bytes[index] == bracket else { throw Malformed() }
            index += 1
        }

        /// A backslash makes the next character part of the word.
        private mutating func word() -> String {
            var word: [UInt8] = []
            while index < bytes.count, !Self.isSpace(bytes[index]), !"(){}".utf8.contains(bytes[index]) {
                if bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count { index += 1 }
                word.append(bytes[index])
                index += 1
            }
            return String(decoding: word, as: UTF8.self)
        }

        private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (9...13).contains(byte) }
    }

    /// Whether it is `<>`, the null pointer.
    var isNull: Bool { if case .word("<>") = self { true } else { false } }

    /// A list of numbers that begins with its kind: `(o 96 98)`, `(b 8 9)`.
    func numbers(of kind: String) -> [Int]? {
        guard case .list(let elements) = self, case .word(kind)? = elements.first else { return nil }
        var numbers: [Int] = []
        for element in elements.dropFirst() {
            guard case .word(let word) = element, let number = Int(word) else { return nil }
            numbers.append(number)
        }
        return numbers
    }
}
