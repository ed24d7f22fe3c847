/// Numbers as sentences of reports, the console and the command line write them. Pure.
package enum HumanUnits {
    /// At most two decimals below 10, none above; thousands are separated.
    package static func number(_ value: Double) -> String {
        guard value.isFinite else { return "-" }
        if abs(value) < 10 {
            let rounded = (value * 100).rounded() / 100
            return rounded == rounded.rounded() ? "\(Int64(rounded))" : "\(rounded)"
        }
        guard abs(value) < 1e15 else { return "\(value)" }
        var digits = "\(Int64(abs(value).rounded()))"
        var groups: [Substring] = []
        while digits.count > 3 {
            groups.insert(digits.suffix(3), at: 0)
            digits = String(digits.dropLast(3))
        }
        return (value < 0 ? "-" : "") + ([Substring(digits)] + groups).joined(separator: ",")
    }

    package static func duration(ms: Double) -> String {
        if abs(ms) < 1_000 { return "\(number(ms)) ms" }
        let seconds = ms / 1_000
        return switch seconds {
        case ..<120: "\(number(seconds.rounded())) s"
        case ..<7_200: "\(number((seconds / 60).rounded())) min"
        case ..<172_800: "\(number((seconds / 3_600).rounded())) h"
        default: "\(number((seconds / 86_400).rounded())) days"
        }
    }

    package static func bytes(_ count: Double) -> String {
        var (value, unit) = (count, 0)
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        while abs(value) >= 1_024, unit < units.count - 1 { (value, unit) = (value / 1_024, unit + 1) }
        return "\(number(value)) \(units[unit])"
    }

    package static func percent(_ share: Double) -> String { "\(number(share * 100)) %" }

    package static func plural(_ count: Int64, _ one: String, _ many: String? = nil) -> String {
        "\(number(Double(count))) \(count == 1 ? one : many ?? one + "s")"
    }
}
