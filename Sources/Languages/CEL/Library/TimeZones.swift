// This is the module's only use of Foundation: `FoundationEssentials` lacks the rules of named time zones.
import Foundation

/// Resolves time zones: `UTC`, an offset (`+11:00`, `-09:30`, `02:00`), or an IANA name.
enum TimeZones {
    private static let nameBytesMax = 64

    /// Returns the offset in seconds east of Greenwich; nil for an unknown zone.
    static func offsetSeconds(of name: String, at timestamp: TimestampValue) -> Int? {
        if name == "UTC" { return 0 }
        guard let first = name.utf8.first, name.utf8.count <= nameBytesMax else { return nil }
        if first == UInt8(ascii: "+") || first == UInt8(ascii: "-") || Lexer.isDigit(first) {
            var reader = FixedReader(bytes: Array((Lexer.isDigit(first) ? "+" + name : name).utf8))
            guard let offset = reader.offsetSeconds(), reader.isAtEnd else { return nil }
            return offset
        }
        guard let zone = TimeZone(identifier: name) else { return nil }
        return zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(timestamp.seconds)))
    }
}
