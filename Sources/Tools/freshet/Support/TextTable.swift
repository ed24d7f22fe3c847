import Clocks
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
        }

        let head: String
        let member: String
        var form = Form.asSent

        init(_ head: String, _ member: String, _ form: Form = .asSent) {
            (self.head, self.member, self.form) = (head, member, form)
        }

        init(stringLiteral name: String) { self.init(name, name) }

        fileprivate func value(in row: JSONValue) -> JSONValue? {
            guard let number = row[member]?.intValue else { return row[member] }
            switch form {
            case .asSent: return row[member]
            case .time: return .string(UTCTime.text(epochMs: number))
            case .timeFromNow: return .string(UTCTime.text(epochMs: WallClock.nowMs() + number))
            case .duration: return .string(Self.duration(ms: number))
            case .bytes: return .string(Self.bytes(number))
            }
        }

        static func duration(ms: Int64) -> String {
            switch ms {
            case ..<1_000: "\(ms) ms"
            case ..<120_000: "\(ms / 1_000) s"
            case ..<7_200_000: "\(ms / 60_000) min"
            case ..<172_800_000: "\(ms / 3_600_000) h"
            default: "\(ms / 86_400_000) d"
            }
        }

        static func bytes(_ count: Int64) -> String {
            switch count {
            case ..<1_024: "\(count) B"
            case ..<(1 << 20): "\(count >> 10) KiB"
            case ..<(1 << 30): "\(count >> 20) MiB"
            default: "\(count >> 30) GiB"
            }
        }
    }

    let columns: [Column]
    let rows: [JSONValue]

    init(columns: [Column], rows: [JSONValue]) {
        self.columns = columns
        self.rows = rows
    }

    /// Lists the members of an object, those of inner objects by their path.
    init(members object: JSONValue) {
        self.init(columns: ["name", "value"], rows: Self.rows(of: object, ""))
    }

    private static func rows(of value: JSONValue, _ path: String) -> [JSONValue] {
        switch value {
        case .object(let object):
            object.entries.flatMap { rows(of: $0.value, path.isEmpty ? $0.key : "\(path).\($0.key)") }
        case .array(let elements) where elements.contains { $0.objectValue != nil }:
            elements.enumerated().flatMap { rows(of: $0.element, "\(path)[\($0.offset)]") }
        case .null, .bool, .int, .double, .string, .array: [["name": .string(path), "value": value]]
        }
    }

    var text: String {
        // The last column need not be cut off.
        let cells = rows.map { row in
            columns.indices.map { Self.cell(columns[$0].value(in: row), isCut: $0 != columns.count - 1) }
        }
        let heads = columns.map(\.head)
        let widths = columns.indices.map { column in
            ([heads[column]] + cells.map { $0[column] }).map(\.count).max() ?? 0
        }
        return ([heads] + cells).map { line in
            zip(line, widths).map { text, width in
                text + String(repeating: " ", count: width - text.count)
            }.joined(separator: "  ").trimmingSuffix(" ")
        }.joined(separator: "\n")
    }

    private static func cell(_ value: JSONValue?, isCut: Bool) -> String {
        switch value {
        case nil, .null?: "-"
        case .string(let text)?: isCut && text.count > 40 ? String(text.prefix(12)) + "…" : text
        case .array(let values)?: values.map { cell($0, isCut: isCut) }.joined(separator: isCut ? "," : "; ")
        case .some(let value): value.description
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
