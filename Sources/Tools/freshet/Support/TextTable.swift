import Clocks
import Foundation
import JSON
import Observability

/// Formats rows of JSON objects as a table for people.
struct TextTable {
    /// A column; a literal shows the member of that name.
    struct Column: ExpressibleByStringLiteral {
        enum Form {
            case asSent
            /// Milliseconds since 1970.
            case time
            /// Milliseconds from now.
            case timeFromNow
            /// Milliseconds, shown with a unit.
            case duration
            case bytes
            case number
            /// A part of 1.
            case percent
            case yesOrNo
            /// Hexadecimal digits, of which the first tell enough.
            case digest
        }

        let head: String
        let member: String
        var form = Form.asSent
        /// The colour of a row's cell on a terminal.
        var color: @Sendable (JSONValue) -> Terminal.Color? = { _ in nil }

        init(
            _ head: String, _ member: String, _ form: Form = .asSent,
            color: @escaping @Sendable (JSONValue) -> Terminal.Color? = { _ in nil }
        ) {
            (self.head, self.member, self.form, self.color) = (head, member, form, color)
        }

        init(stringLiteral name: String) { self.init(name, name) }

        fileprivate func value(in row: JSONValue) -> JSONValue? {
            if form == .yesOrNo { return row[member]?.boolValue.map { $0 ? "yes" : "no" } }
            if form == .digest { return row[member]?.stringValue.map { .string($0.prefix(12) + "…") } }
            guard let number = row[member]?.doubleValue else { return row[member] }
            switch form {
            case .asSent, .yesOrNo, .digest: return row[member]
            case .time: return .string(UTCTime.text(epochMs: Int64(number)))
            case .timeFromNow: return .string(UTCTime.text(epochMs: WallClock.nowMs() + Int64(number)))
            case .duration: return .string(HumanUnits.duration(ms: number))
            case .bytes: return .string(HumanUnits.bytes(number))
            case .number: return .string(HumanUnits.number(number))
            case .percent: return .string(HumanUnits.percent(number))
            }
        }

        /// Whether the cells are numbers, which end below each other.
        fileprivate var isRight: Bool {
            switch form {
            case .duration, .bytes, .number, .percent: true
            case .asSent, .time, .timeFromNow, .yesOrNo, .digest: false
            }
        }
    }

    let columns: [Column]
    let rows: [JSONValue]

    init(columns: [Column], rows: [JSONValue]) {
        self.columns = columns
        self.rows = rows
    }

    /// Lists what is known under words for people; null is left out.
    init(facts: [(String, JSONValue?)]) {
        let known = facts.filter { $0.1 != nil && $0.1 != .null }
        self.init(
            columns: [.init("", "name"), .init("", "value")],
            rows: known.map { ["name": .string($0.0), "value": $0.1 ?? .null] })
    }

    var text: String { text(isColored: Terminal.colorsOutput) }

    /// - Parameter isColored: whether the reader is a terminal that shows colours.
    func text(isColored: Bool) -> String {
        // The last column need not be cut off.
        let cells = rows.map { row in
            columns.indices.map { Self.cell(columns[$0].value(in: row), isCut: $0 != columns.count - 1) }
        }
        let heads = columns.map(\.head)
        let widths = columns.indices.map { column in
            ([heads[column]] + cells.map { $0[column] }).map(\.count).max() ?? 0
        }
        func line(_ texts: [String], _ color: (Int) -> Terminal.Color?) -> String {
            columns.indices.map { index in
                let space = String(repeating: " ", count: widths[index] - texts[index].count)
                let text = isColored ? Terminal.colored(texts[index], color(index)) : texts[index]
                return columns[index].isRight ? space + text : text + space
            }.joined(separator: "  ").trimmingSuffix(" ")
        }
        let body = zip(rows, cells).map { row, texts in line(texts) { columns[$0].color(row) } }
        if heads.allSatisfy(\.isEmpty) { return body.joined(separator: "\n") }
        return ([line(heads) { _ in .bold }] + body).joined(separator: "\n")
    }

    /// The characters of a cell that are shown, unless it is the last one of its row.
    private static let cellMax = 40

    private static func cell(_ value: JSONValue?, isCut: Bool) -> String {
        switch value {
        case nil, .null?: return "-"
        case .string(let text)?:
            if isCut, text.count >= 32, text.allSatisfy(\.isHexDigit) { return text.prefix(12) + "…" }
            return isCut && text.count > cellMax ? text.prefix(cellMax - 1) + "…" : text
        case .array(let values)?:
            return values.map { cell($0, isCut: isCut) }.joined(separator: isCut ? "," : "; ")
        case .some(let value): return value.description
        }
    }
}

/// Numbers as the console writes them.
enum HumanUnits {
    /// At most two decimals below 10, none above; thousands are separated.
    static func number(_ value: Double) -> String {
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

    static func duration(ms: Double) -> String {
        if abs(ms) < 1_000 { return "\(number(ms)) ms" }
        let seconds = ms / 1_000
        return switch seconds {
        case ..<120: "\(number(seconds.rounded())) s"
        case ..<7_200: "\(number((seconds / 60).rounded())) min"
        case ..<172_800: "\(number((seconds / 3_600).rounded())) h"
        default: "\(number((seconds / 86_400).rounded())) days"
        }
    }

    static func bytes(_ count: Double) -> String {
        var (value, unit) = (count, 0)
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        while abs(value) >= 1_024, unit < units.count - 1 { (value, unit) = (value / 1_024, unit + 1) }
        return "\(number(value)) \(units[unit])"
    }

    static func percent(_ share: Double) -> String { "\(number(share * 100)) %" }

    static func plural(_ count: Int64, _ one: String, _ many: String? = nil) -> String {
        "\(number(Double(count))) \(count == 1 ? one : many ?? one + "s")"
    }
}

extension String {
    fileprivate func trimmingSuffix(_ character: Character) -> String {
        var text = Substring(self)
        while text.last == character { text = text.dropLast() }
        return String(text)
    }
}
