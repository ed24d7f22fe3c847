import Admin
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

extension String {
    fileprivate func trimmingSuffix(_ character: Character) -> String {
        var text = Substring(self)
        while text.last == character { text = text.dropLast() }
        return String(text)
    }
}
