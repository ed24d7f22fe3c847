/// Validates the text forms of scalars that are sent as strings. Source: docs/reference/sql-connect.md §5.3.
package enum ScalarText {
    /// Returns a UUID as 32 lower-case hexadecimal digits. Accepts any case, with or without dashes, `urn:uuid:` or
    /// braces. Returns nil if the text is not a UUID.
    package static func canonicalUUID(_ text: String) -> String? {
        if let plain = canonicalOfPlain(text) { return plain }
        var rest = text.utf8[...]
        if rest.count > 9, String(Substring(rest.prefix(9))).lowercased() == "urn:uuid:" {
            rest = rest.dropFirst(9)
        } else if rest.first == UInt8(ascii: "{"), rest.last == UInt8(ascii: "}") {
            rest = rest.dropFirst().dropLast()
        }
        guard rest.count == 32 || rest.count == 36 else { return nil }
        let isDashed = rest.count == 36
        var digits: [UInt8] = []
        digits.reserveCapacity(32)
        for (offset, byte) in rest.enumerated() {
            if isDashed, [8, 13, 18, 23].contains(offset) {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): digits.append(byte)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digits.append(byte | 0x20)
            default: return nil
            }
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// Fast path for the most common form, 8-4-4-4-12 lower-case digits; nil for any other.
    private static func canonicalOfPlain(_ text: String) -> String? {
        guard text.utf8.count == 36 else { return nil }
        var isPlain = true
        let digits = String(unsafeUninitializedCapacity: 32) { digits in
            var count = 0
            for (offset, byte) in text.utf8.enumerated() {
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"):
                    guard count < 32 else {
                        isPlain = false
                        return 0
                    }
                    digits[count] = byte
                    count += 1
                case UInt8(ascii: "-") where offset == 8 || offset == 13 || offset == 18 || offset == 23: break
                default:
                    isPlain = false
                    return 0
                }
            }
            return count
        }
        return isPlain && digits.utf8.count == 32 ? digits : nil
    }

    /// Returns whether the text is an existing date in the form `YYYY-MM-DD`.
    package static func isDate(_ text: some StringProtocol) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, let year = digits(parts[0], count: 4), let month = digits(parts[1], count: 2),
            let day = digits(parts[2], count: 2), (1...12).contains(month), day >= 1
        else { return false }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return day <= (month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31)
    }

    /// Returns whether the text is an RFC 3339 time with an offset, such as `2026-01-31T12:00:00.5Z`, in the years 1583
    /// to 9999.
    package static func isTimestamp(_ text: String) -> Bool {
        guard text.utf8.count >= 20, let separator = text.firstIndex(where: { $0 == "T" || $0 == "t" || $0 == " " }),
            isDate(text[..<separator]), text[..<separator] >= "1583"
        else { return false }
        var clock = text[text.index(after: separator)...]
        if clock.last == "Z" || clock.last == "z" {
            clock.removeLast()
        } else {
            let offset = clock.suffix(6)
            let hourMinute = offset.dropFirst().split(separator: ":", omittingEmptySubsequences: false)
            guard let sign = offset.first, sign == "+" || sign == "-", hourMinute.count == 2,
                let hour = digits(hourMinute[0], count: 2), hour < 24,
                let minute = digits(hourMinute[1], count: 2), minute < 60
            else { return false }
            clock = clock.dropLast(6)
        }
        let parts = clock.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let hour = digits(parts[0], count: 2), hour < 24,
            let minute = digits(parts[1], count: 2), minute < 60
        else { return false }
        let second = parts[2].split(separator: ".", omittingEmptySubsequences: false)
        guard let whole = second.first.flatMap({ digits($0, count: 2) }), whole < 60 else { return false }
        guard second.count == 2 else { return second.count == 1 }
        return (1...9).contains(second[1].count) && digits(second[1], count: second[1].count) != nil
    }

    private static func digits(_ text: some StringProtocol, count: Int) -> Int? {
        guard text.utf8.count == count, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text)
    }
}
