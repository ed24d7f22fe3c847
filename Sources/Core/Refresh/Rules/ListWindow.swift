package import JSON
import LiveModel

/// The rows that a list shows at most: those that come first in its order. A row after the last one shown does not
/// change a full list. Of nested lists, each has an end of its own.
package struct ListWindow: Sendable, Hashable {
    private let limit: Int32
    /// The terms of the order that are descending, one bit each.
    private let descending: UInt32

    /// The most terms of an order that are compared.
    package static let termsMax = 32

    /// The values of the order of the last row shown. One value takes no array: there is an edge for each live query.
    package enum Edge: Sendable, Hashable {
        case one(SortValue)
        case several([SortValue])

        init?(_ values: [SortValue]) {
            guard let first = values.first else { return nil }
            self = values.count == 1 ? .one(first) : .several(values)
        }

        var first: SortValue? {
            switch self {
            case .one(let value): value
            case .several(let values): values.first
            }
        }
    }

    /// The places after which lists show no rows.
    package enum Edges: Sendable, Hashable {
        /// Every row may be shown.
        case none
        /// All lists end there.
        case all(Edge)
        /// The ends of lists by the hash of the bound field's value, in the first term of the order, because one live
        /// query may have many. A list that is not among them may show every row.
        case each([UInt32: SortValue])
    }

    /// - Parameter isDescending: for each term of `RowSite.Shown.order`.
    package init(limit: Int, isDescending: [Bool]) {
        self.limit = Int32(clamping: limit)
        descending = isDescending.prefix(Self.termsMax).enumerated().reduce(0) { bits, term in
            term.element ? bits | 1 << UInt32(term.offset) : bits
        }
    }

    /// - Parameter isBound: whether a bound field tells the lists apart.
    func edges(_ lists: [RowsRead.List], _ order: [RowSite.SortTerm], isBound: Bool) -> Edges {
        guard isBound else {
            guard let first = lists.first.flatMap({ edge($0, order) }),
                lists.dropFirst().allSatisfy({ edge($0, order) == first })
            else { return .none }
            return .all(first)
        }
        // Lists of one value, at several places of the result or with another part of a key, count if they end alike;
        // so do those of values that share a hash.
        let ends = lists.compactMap { list in list.bound.map { ($0, edge(list, order)) } }
        let edges = Dictionary(ends) { $0 == $1 ? $0 : nil }
        let known = edges.compactMapValues { $0?.first }
        return known.isEmpty ? .none : .each(known)
    }

    /// Returns the place after which the list shows no row; nil if it may show every row.
    private func edge(_ list: RowsRead.List, _ order: [RowSite.SortTerm]) -> Edge? {
        guard list.count > 0, list.count >= limit, list.last.count == order.count else { return nil }
        return Edge(zip(order, list.last).map { SortValue($1, $0.kind) })
    }

    /// Whether a row with these values of the order comes after the edge. What is not known, or cannot be compared, may
    /// come before. Nulls come last, or first if the order is descending.
    func isBeyond(_ row: [SortValue], _ edge: Edge) -> Bool {
        switch edge {
        case .one(let last): row.first.flatMap { isBeyond($0, last, term: 0) } ?? false
        case .several(let lasts):
            zip(row, lasts).enumerated().lazy.compactMap { isBeyond($1.0, $1.1, term: $0) }.first ?? false
        }
    }

    /// Returns nil if the next term of the order decides.
    private func isBeyond(_ value: SortValue, _ last: SortValue, term: Int) -> Bool? {
        guard let order = value.compare(last) else { return false }
        return order == .same ? nil : (order == .after) != (descending & 1 << UInt32(term) != 0)
    }
}

/// A comparison that a row must satisfy to be shown: `closesAt > '2026-01-31'`.
package struct RowTest: Sendable {
    package enum Comparison: Sendable {
        case equal, less, lessOrEqual, greater, greaterOrEqual
    }

    let field: String
    private let kind: SortKind
    private let comparison: Comparison
    private let value: SortValue

    package init(field: String, kind: SortKind, _ comparison: Comparison, _ value: JSONValue) {
        self.field = field
        self.kind = kind
        self.comparison = comparison
        self.value = SortValue(value, kind)
    }

    /// Whether a row with this image may satisfy it.
    func mayHold(_ image: JSONObject) -> Bool { image[field].flatMap(holds) ?? true }

    /// Whether a row with this value of the field satisfies it; nil if that is not known.
    func holds(_ value: JSONValue) -> Bool? {
        let known = SortValue(value, kind)
        // Comparing with null is not true.
        if known == .null { return false }
        guard let order = known.compare(self.value) else { return nil }
        return switch comparison {
        case .equal: order == .same
        case .less: order == .before
        case .lessOrEqual: order != .after
        case .greater: order == .after
        case .greaterOrEqual: order != .before
        }
    }
}

/// The type of a field that rows are ordered by.
package enum SortKind: Sendable {
    /// Int, Int64
    case number
    /// UUID without dashes
    case uuid
    /// Boolean
    case boolean
    /// Date, `2026-01-31`
    case date
    /// Timestamp, `2026-01-31T12:00:00.500000Z`
    case timestamp
}

/// A value in a form that is ordered as Postgres orders it.
package enum SortValue: Sendable, Hashable {
    case null
    case number(Int64)
    case text(String)
    /// A value that is not known, or whose text does not tell its place: years beyond 9999 or before 1, `infinity`.
    case unknown

    enum Comparison {
        case before, same, after
    }

    init(_ value: JSONValue?, _ kind: SortKind) {
        guard let value else {
            self = .unknown
            return
        }
        if value.isNull {
            self = .null
            return
        }
        switch kind {
        case .number: self = Int64(GuardValue.text(value)).map(Self.number) ?? .unknown
        case .boolean: self = value.boolValue.map { .number($0 ? 1 : 0) } ?? .unknown
        case .uuid: self = value.stringValue.flatMap { Self.isUUID($0) ? .text($0) : nil } ?? .unknown
        case .date: self = value.stringValue.flatMap { Self.digits($0, "0000-00-00") }.map(Self.number) ?? .unknown
        case .timestamp:
            self =
                value.stringValue.flatMap { Self.digits($0, "0000-00-00T00:00:00.000000Z") }.map(Self.number)
                ?? .unknown
        }
    }

    /// Returns how it comes to another one in ascending order; nil if that is not known.
    func compare(_ other: SortValue) -> Comparison? {
        switch (self, other) {
        case (.unknown, _), (_, .unknown): nil
        case (.null, .null): .same
        case (.null, _): .after
        case (_, .null): .before
        case (.number(let left), .number(let right)): left == right ? .same : left < right ? .before : .after
        case (.text(let left), .text(let right)): left == right ? .same : left < right ? .before : .after
        case (.number, .text), (.text, .number): nil
        }
    }

    private static func isUUID(_ text: String) -> Bool {
        text.utf8.count == 32
            && text.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }

    /// Returns a number that grows with the time, from the digits of a text that has one for each 0 of the form and is
    /// otherwise the same; nil for others, and for years that do not fit.
    private static func digits(_ text: String, _ form: StaticString) -> Int64? {
        guard text.utf8.count == form.utf8CodeUnitCount else { return nil }
        var (number, part): (Int64, Int64) = (0, 0)
        var digits = 0
        /// Appends a part of two, four or six digits.
        func append() -> Bool {
            let factor: Int64 = digits == 6 ? 1_000_000 : 64
            let shifted = number.multipliedReportingOverflow(by: factor)
            let sum = shifted.partialValue.addingReportingOverflow(part)
            (number, part, digits) = (sum.partialValue, 0, 0)
            return !shifted.overflow && !sum.overflow
        }
        let isValid = form.withUTF8Buffer { form in
            for (byte, wanted) in zip(text.utf8, form) {
                guard wanted == UInt8(ascii: "0") else {
                    guard byte == wanted, digits != 2 || part < 64, append() else { return false }
                    continue
                }
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return false }
                part = part * 10 + Int64(byte - UInt8(ascii: "0"))
                digits += 1
            }
            return digits == 0 || part < 64 && append()
        }
        return isValid ? number : nil
    }
}
