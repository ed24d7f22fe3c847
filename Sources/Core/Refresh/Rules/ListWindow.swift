package import JSON
import LiveModel

/// The rows that a list shows at most: those that come first in its order. A row after the last one shown does not
/// change a full list.
package struct ListWindow: Sendable {
    /// A field by which the rows come. Nulls come last, or first if the order is descending.
    package struct Term: Sendable {
        package let field: String
        package let kind: SortKind
        package let isDescending: Bool

        package init(field: String, kind: SortKind, isDescending: Bool) {
            self.field = field
            self.kind = kind
            self.isDescending = isDescending
        }
    }

    let terms: [Term]
    let limit: Int

    package init(terms: [Term], limit: Int) {
        self.terms = terms
        self.limit = limit
    }

    /// Returns the place after which no row is shown; nil if every row may be.
    func edge(_ read: RowsRead) -> [JSONValue]? {
        read.count > 0 && read.count >= limit && read.last.count == terms.count ? read.last : nil
    }

    /// Whether a row with this image comes after the edge. What is not known, or cannot be compared, may come before.
    func isBeyond(_ image: JSONObject, _ edge: [JSONValue]) -> Bool {
        for (term, last) in zip(terms, edge) {
            guard let value = image[term.field] else { return false }
            switch term.kind.compare(value, last) {
            case nil: return false
            case .same: continue
            case .after: return !term.isDescending
            case .before: return term.isDescending
            }
        }
        return false
    }
}

/// A comparison that a row must satisfy to be shown: `closesAt > '2026-01-31'`.
package struct RowTest: Sendable {
    package enum Comparison: Sendable {
        case equal, less, lessOrEqual, greater, greaterOrEqual
    }

    package let field: String
    package let kind: SortKind
    package let comparison: Comparison
    package let value: JSONValue

    package init(field: String, kind: SortKind, _ comparison: Comparison, _ value: JSONValue) {
        self.field = field
        self.kind = kind
        self.comparison = comparison
        self.value = value
    }

    /// Whether a row with this image may satisfy it.
    func mayHold(_ image: JSONObject) -> Bool {
        guard let known = image[field] else { return true }
        // Comparing with null is not true.
        if known.isNull { return false }
        guard let order = kind.compare(known, value) else { return true }
        return switch comparison {
        case .equal: order == .same
        case .less: order == .before
        case .lessOrEqual: order != .after
        case .greater: order == .after
        case .greaterOrEqual: order != .before
        }
    }
}

/// How Postgres orders the values of a field, as far as their texts tell.
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

    enum Comparison {
        case before, same, after
    }

    /// Returns how the left value comes to the right one in ascending order; nil if they cannot be compared.
    func compare(_ left: JSONValue, _ right: JSONValue) -> Comparison? {
        switch (left.isNull, right.isNull) {
        case (true, true): return .same
        case (true, false): return .after
        case (false, true): return .before
        case (false, false): break
        }
        switch self {
        case .number:
            guard let left = Int64(GuardValue.text(left)), let right = Int64(GuardValue.text(right)) else { return nil }
            return left == right ? .same : left < right ? .before : .after
        case .boolean:
            guard case .bool(let left) = left, case .bool(let right) = right else { return nil }
            return left == right ? .same : right ? .before : .after
        case .uuid, .date, .timestamp:
            guard let left = left.stringValue, let right = right.stringValue, hasForm(left), hasForm(right) else {
                return nil
            }
            return left == right ? .same : left < right ? .before : .after
        }
    }

    /// Whether texts of this form are ordered as their values are. Not of it are years beyond 9999 or before 1, and
    /// `infinity`.
    private func hasForm(_ text: String) -> Bool {
        let form: StaticString
        switch self {
        case .number, .boolean: return false
        case .uuid:
            return text.utf8.count == 32
                && text.utf8.allSatisfy {
                    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                        || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
                }
        case .date: form = "0000-00-00"
        case .timestamp: form = "0000-00-00T00:00:00.000000Z"
        }
        guard text.utf8.count == form.utf8CodeUnitCount else { return false }
        return form.withUTF8Buffer { form in
            zip(text.utf8, form).allSatisfy { byte, wanted in
                wanted == UInt8(ascii: "0")
                    ? (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) : byte == wanted
            }
        }
    }
}
