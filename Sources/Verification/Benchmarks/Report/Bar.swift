/// One line of the table at the end: what was asked for and what was measured.
package struct Bar: Sendable {
    package enum Limit: Sendable {
        case atMost(Double)
        case atLeast(Double)
        /// Shown for comparison only.
        case none
    }

    package let name: String
    /// What the ratio was made of, with units.
    package let measured: String
    package let ratio: Double
    package let limit: Limit

    /// Nil when nothing was asked for.
    package var isMet: Bool? {
        switch limit {
        case .atMost(let bound): ratio <= bound
        case .atLeast(let bound): ratio >= bound
        case .none: nil
        }
    }

    package static func table(_ bars: [Bar]) -> String {
        let rows = bars.map { bar in
            let limit =
                switch bar.limit {
                case .atMost(let bound): "<= \(Text.fixed(bound))"
                case .atLeast(let bound): ">= \(Text.fixed(bound))"
                case .none: "-"
                }
            return [bar.name, limit, bar.measured, Text.fixed(bar.ratio), bar.isMet.map { $0 ? "yes" : "NO" } ?? "-"]
        }
        return Text.table([["bar", "limit", "measured", "ratio", "met"]] + rows)
    }
}

/// Numbers and columns as text.
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

    /// `1,234,567`
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

    /// The first row is the heading.
    static func table(_ rows: [[String]]) -> String {
        guard let heading = rows.first else { return "" }
        let widths = heading.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        let lines = rows.map { row in
            let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return "| " + cells.joined(separator: " | ") + " |"
        }
        let rule = "|" + widths.map { String(repeating: "-", count: $0 + 2) }.joined(separator: "|") + "|"
        return ([lines[0], rule] + lines.dropFirst()).joined(separator: "\n")
    }
}
