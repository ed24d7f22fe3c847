// The one use of Foundation in this module: the rules of named time zones. `FoundationEssentials` knows fixed offsets
// only.
import Foundation

/// Time zones by name: `UTC`, an offset (`+11:00`, `-09:30`, `02:00`), or a name of the IANA database.
enum TimeZones {
    private static let nameBytesMax = 64

    /// Seconds east of Greenwich; nil for an unknown zone.
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
