/// Decodes and prints block strings (specification, section 2.9.4, BlockStringValue).
enum BlockString {
    /// Removes the common indentation of all lines but the first, and blank lines at both ends.
    /// - Parameter raw: the text between the quotes, with `\"""` already replaced.
    static func value(ofRaw raw: [UInt8]) -> String {
        let lines = lines(of: raw)
        var commonIndent = Int.max
        var firstFilled: Int?
        var lastFilled = 0
        for (number, line) in lines.enumerated() {
            let indent = line.prefix { isBlank($0) }.count
            guard indent < line.count else { continue }
            firstFilled = firstFilled ?? number
            lastFilled = number
            if number > 0 { commonIndent = min(commonIndent, indent) }
        }
        guard let firstFilled else { return "" }
        var value: [UInt8] = []
        for number in firstFilled...lastFilled {
            if number > firstFilled { value.append(0x0A) }
            value.append(contentsOf: number == 0 ? lines[number] : lines[number].dropFirst(commonIndent))
        }
        return String(decoding: value, as: UTF8.self)
    }

    /// Returns the text to print between the quotes so that it parses back to `value`, on the line of the quotes or on
    /// separate lines. Returns nil if no text does (carriage returns, blank lines at an end, indentation of all lines).
    /// - Parameter indent: the indentation of every line after the first.
    static func raw(for value: String, indent: String) -> String? {
        let escaped = value.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { String($0) ?? "" }
        let isOneLine = escaped.count == 1
        let startsBlank = value.utf8.first.map(isBlank) ?? false
        // A trailing quote or backslash would merge with the closing quotes.
        let endsAwkward = value.utf8.last == UInt8(ascii: "\"") || value.utf8.last == UInt8(ascii: "\\")
        let isTall = !isOneLine || value.utf8.count > 70 || endsAwkward

        var content = ""
        if isTall && !(isOneLine && startsBlank) { content += "\n" + indent }
        content += escaped.joined(separator: "\n" + indent)
        if isTall { content += "\n" + indent }
        guard Self.value(ofRaw: Array(content.utf8)).utf8.elementsEqual(value.utf8) else { return nil }
        return escapingTripleQuotes(content)
    }

    private static func escapingTripleQuotes(_ text: String) -> String {
        var escaped: [UInt8] = []
        var quotes = 0
        for byte in text.utf8 {
            quotes = byte == UInt8(ascii: "\"") ? quotes + 1 : 0
            escaped.append(byte)
            if quotes == 3 {
                escaped.insert(UInt8(ascii: "\\"), at: escaped.count - 3)
                quotes = 0
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    private static func lines(of raw: [UInt8]) -> [ArraySlice<UInt8>] {
        var lines: [ArraySlice<UInt8>] = []
        var start = 0
        var at = 0
        while at < raw.count {
            if raw[at] == 0x0A || raw[at] == 0x0D {
                lines.append(raw[start..<at])
                if raw[at] == 0x0D, at + 1 < raw.count, raw[at + 1] == 0x0A { at += 1 }
                start = at + 1
            }
            at += 1
        }
        lines.append(raw[start...])
        return lines
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09
    }
}
