/// Substring search in linear time (Knuth–Morris–Pratt), since both strings may come from a client.
enum TextSearch {
    static func isFound(_ part: [UInt8], in text: [UInt8]) -> Bool {
        guard let first = part.first else { return true }
        guard part.count <= text.count else { return false }
        if part.count == 1 { return text.contains(first) }
        let borders = Self.borders(of: part)
        var matched = 0
        for byte in text {
            while matched > 0, part[matched] != byte { matched = borders[matched - 1] }
            if part[matched] == byte { matched += 1 }
            if matched == part.count { return true }
        }
        return false
    }

    /// Returns, for each prefix, the length of its longest proper prefix that is also a suffix.
    private static func borders(of part: [UInt8]) -> [Int] {
        var borders = Array(repeating: 0, count: part.count)
        var length = 0
        for position in 1..<part.count {
            while length > 0, part[position] != part[length] { length = borders[length - 1] }
            if part[position] == part[length] { length += 1 }
            borders[position] = length
        }
        return borders
    }
}
