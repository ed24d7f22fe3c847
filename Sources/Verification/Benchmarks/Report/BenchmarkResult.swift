/// A measured ratio and its limit, a line of the final table.
package struct BenchmarkResult: Sendable {
    package enum Limit: Sendable {
        case atMost(Double)
        case atLeast(Double)
        /// No limit; shown for comparison only.
        case none
    }

    package let name: String
    /// The values of the ratio, with units.
    package let measured: String
    package let ratio: Double
    package let limit: Limit

    /// Whether the limit is met; nil if there is none.
    package var isMet: Bool? {
        switch limit {
        case .atMost(let bound): ratio <= bound
        case .atLeast(let bound): ratio >= bound
        case .none: nil
        }
    }

    package static func table(_ results: [BenchmarkResult]) -> String {
        let rows = results.map { result in
            let limit =
                switch result.limit {
                case .atMost(let bound): "<= \(Text.fixed(bound))"
                case .atLeast(let bound): ">= \(Text.fixed(bound))"
                case .none: "-"
                }
            return [
                result.name, limit, result.measured, Text.fixed(result.ratio),
                result.isMet.map { $0 ? "yes" : "NO" } ?? "-",
            ]
        }
        return Text.table([["benchmark", "limit", "measured", "ratio", "met"]] + rows)
    }
}

/// Formats numbers and tables as text.
enum Text {
    static func fixed(_ value: Double, decimals: Int = 2) -> String {
        guard value.isFinite, abs(value) < 1e15 else { return "\(value)" }
        var scale = 1
        for _ in 0..<decimals { scale *= 10 }
        let scaled = Int((abs(value) * Double(scale)).rounded())
        let sign = value < 0 && scaled != 0 ? "-" : ""
        if decimals == 0 { return sign + grouped(scaled) }
        let fraction = String(scaled % scale)
        return sign + grouped(scaled / scale) + "." + String(repeating: "0", count: decimals - fraction.count)
            + fraction
    }

    /// Formats a number with groups, as in `1,234,567`.
    static func grouped(_ number: Int) -> String {
        var text = ""
        for (index, digit) in String(number).reversed().enumerated() {
            if index > 0, index % 3 == 0, digit != "-" { text.append(",") }
            text.append(digit)
        }
        return String(text.reversed())
    }

    static func rate(_ value: Double) -> String { fixed(value, decimals: 0) + "/s" }
    static func microseconds(_ seconds: Double) -> String { fixed(seconds * 1e6, decimals: 1) + " us" }
    static func milliseconds(_ seconds: Double) -> String { fixed(seconds * 1e3, decimals: 2) + " ms" }

    /// Formats a Markdown table; the first row is the heading.
    static func table(_ rows: [[String]]) -> String {
        guard let heading = rows.first else { return "" }
        let widths = heading.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        let lines = rows.map { row in
            let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return "| " + cells.joined(separator: " | ") + " |"
        }
        let rule = "|" + widths.map { String(repeating: "-", count: $0 + 2) }.joined(separator: "|") + "|"
        // A line that followed directly would count as a row.
        return ([lines[0], rule] + lines.dropFirst()).joined(separator: "\n") + "\n"
    }
}
