/// Escapes and cuts the parts of a line.
enum LogText {
    /// Writes control characters, including those beyond ASCII, as `\n`, `\u{1b}`…; other characters unchanged.
    static func appendPlain(_ text: String, to line: inout [UInt8]) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": line.append(contentsOf: "\\n".utf8)
            case "\r": line.append(contentsOf: "\\r".utf8)
            case "\t": line.append(contentsOf: "\\t".utf8)
            case _ where isControl(scalar):
                line.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".utf8)
            default: line.append(contentsOf: UTF8.encode(scalar)?.map { $0 } ?? [])
            }
        }
    }

    /// Writes ` key=value`, the value in quotes if it is empty or contains spaces or quotes.
    static func appendField(_ key: String, _ value: String, to line: inout [UInt8]) {
        line.append(UInt8(ascii: " "))
        appendPlain(key, to: &line)
        line.append(UInt8(ascii: "="))
        let isBare = !value.isEmpty && !value.utf8.contains { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\"") }
        if isBare {
            appendPlain(value, to: &line)
        } else {
            line.append(UInt8(ascii: "\""))
            for part in value.split(separator: "\"", omittingEmptySubsequences: false).enumerated() {
                if part.offset > 0 { line.append(contentsOf: "\\\"".utf8) }
                appendPlain(String(part.element), to: &line)
            }
            line.append(UInt8(ascii: "\""))
        }
    }

    /// Writes a JSON string, cut after about `bytesMax` bytes of text.
    static func appendQuoted(_ text: String, to line: inout [UInt8], bytesMax: Int = .max) {
        let end = line.count + min(bytesMax, 1 << 30)
        line.append(UInt8(ascii: "\""))
        for scalar in text.unicodeScalars {
            guard line.count < end else {
                line.append(contentsOf: "…".utf8)
                break
            }
            switch scalar {
            case "\"": line.append(contentsOf: "\\\"".utf8)
            case "\\": line.append(contentsOf: "\\\\".utf8)
            case "\n": line.append(contentsOf: "\\n".utf8)
            case "\t": line.append(contentsOf: "\\t".utf8)
            case _ where isControl(scalar):
                let hex = String(scalar.value, radix: 16)
                line.append(contentsOf: "\\u\(String(repeating: "0", count: 4 - hex.count))\(hex)".utf8)
            default: line.append(contentsOf: UTF8.encode(scalar)?.map { $0 } ?? [])
            }
        }
        line.append(UInt8(ascii: "\""))
    }

    /// Whether this is a C0 or C1 control, DEL or a Unicode line separator.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
        default: false
        }
    }

    /// Cuts between characters.
    static func cut(_ line: inout [UInt8], bytesMax: Int, end: String) {
        guard line.count > bytesMax else { return }
        var count = bytesMax - end.utf8.count
        while count > 0, line[count] & 0xC0 == 0x80 { count -= 1 }
        line.removeSubrange(count...)
        line.append(contentsOf: end.utf8)
    }
}

/// UTC in the form of RFC 3339 with milliseconds.
package enum UTCTime {
    package static func text(epochMs: Int64) -> String {
        let days = (Double(epochMs) / 86_400_000).rounded(.down)
        let dayMs = epochMs - Int64(days) * 86_400_000
        let (year, month, day) = civil(days: Int64(days))
        let date = "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))"
        let time = "\(pad(dayMs / 3_600_000, 2)):\(pad(dayMs / 60_000 % 60, 2)):\(pad(dayMs / 1000 % 60, 2))"
        return "\(date)T\(time).\(pad(dayMs % 1000, 3))Z"
    }

    private static func pad(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    /// The Gregorian date of a number of days since 1970. Years start in March here, so that the leap day comes last.
    private static func civil(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }
}
