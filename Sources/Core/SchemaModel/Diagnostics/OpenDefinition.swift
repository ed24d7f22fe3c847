import GraphQLLanguage

/// A definition that lacks a closing brace: it is still open where the next one begins, or where the file ends.
struct OpenDefinition {
    /// Its keyword and name.
    let range: SourceRange
    /// `type Novel`
    let text: String

    private static let keywords: Set<String> = [
        "type", "input", "enum", "interface", "query", "mutation", "subscription", "fragment", "extend",
    ]

    /// Finds the definition that is open at a syntax error; nil if another mistake caused the error.
    ///
    /// Definitions are recognised at the start of a line, where no field or argument begins with a keyword and a name.
    static func find(in bytes: [UInt8], before offset: Int) -> OpenDefinition? {
        var depth = 0
        var last: OpenDefinition?
        var index = 0
        while index < bytes.count {
            let isLineStart = index == 0 || bytes[index - 1] == 0x0A
            if isLineStart, let next = definition(bytes, at: index) {
                if depth > 0 { return last }
                if index > offset { return nil }
                last = next
            }
            switch bytes[index] {
            case UInt8(ascii: "#"): index = end(ofLine: bytes, index)
            case UInt8(ascii: "\""): index = end(ofString: bytes, index)
            case UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "}"):
                depth -= 1
                if depth < 0 { return nil }
            default: break
            }
            index += 1
        }
        return depth > 0 ? last : nil
    }

    private static func definition(_ bytes: [UInt8], at start: Int) -> OpenDefinition? {
        let line = bytes[start...].prefix { $0 != 0x0A && $0 != 0x0D && $0 != UInt8(ascii: "{") }
        let words = String(decoding: line, as: UTF8.self).split(separator: " ", maxSplits: 2)
        guard words.count > 1, keywords.contains(String(words[0])), words[1].first?.isLetter == true else { return nil }
        let name = words[1].prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        let text = "\(words[0]) \(name)"
        return OpenDefinition(range: SourceRange(start: start, end: start + text.utf8.count), text: text)
    }

    private static func end(ofLine bytes: [UInt8], _ start: Int) -> Int {
        (bytes[start...].firstIndex(of: 0x0A) ?? bytes.count) - 1
    }

    /// Returns the index of the last byte of the string that begins at `start`.
    private static func end(ofString bytes: [UInt8], _ start: Int) -> Int {
        let quote = UInt8(ascii: "\"")
        if bytes[start...].starts(with: [quote, quote, quote]) {
            let rest = bytes[(start + 3)...]
            return (rest.firstRange(of: [quote, quote, quote])?.upperBound ?? bytes.count) - 1
        }
        var index = start + 1
        while index < bytes.count, bytes[index] != quote, bytes[index] != 0x0A {
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(index, bytes.count - 1)
    }
}
