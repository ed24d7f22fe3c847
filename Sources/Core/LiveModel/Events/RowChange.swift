package import JSON

/// A change of one row of a table, or of several rows alike, as far as its event tells.
///
/// An image holds the known values of the row's fields in the form of `EntityKey`. A field that is not in an image is
/// unknown, and what is unknown may be anything.
package struct RowChange: Sendable, Hashable {
    /// The SQL name of the table.
    package var table: String
    /// The row before; nil if there was none.
    package var before: JSONObject?
    /// The row after; nil if there is none.
    package var after: JSONObject?
    /// The fields that may differ between the images; nil if all may.
    package var changed: [String]?
    /// Whether it stands for any number of rows, even none: those that follow another change by a foreign key.
    package var isOfFollowers = false

    package init(
        table: String, before: JSONObject?, after: JSONObject?, changed: [String]? = nil, isOfFollowers: Bool = false
    ) {
        self.isOfFollowers = isOfFollowers
        self.table = table
        self.before = before
        self.after = after
        self.changed = changed
    }

    /// A change of any rows of a table.
    package static func anything(in table: String) -> RowChange {
        RowChange(table: table, before: [:], after: [:])
    }

    /// Whether it may be a change of any row.
    package var isAnything: Bool { before?.isEmpty == true && after?.isEmpty == true && changed == nil }

    /// The longest text in an image; a longer one is unknown.
    package static let textBytesMax = 128

    /// Whether an image tells this value.
    package static func tells(_ value: JSONValue) -> Bool {
        switch value {
        case .string(let text): text.utf8.count <= textBytesMax
        case .int, .bool, .null: true
        default: false
        }
    }

    /// The images that exist.
    package var images: [JSONObject] {
        guard let before else { return after.map { [$0] } ?? [] }
        guard let after, after != before else { return [before] }
        return [before, after]
    }

    /// Returns whether a reader of these fields may notice the change; nil stands for all fields.
    package func concerns(fields: Set<String>?) -> Bool {
        guard let fields else { return true }
        return mayDiffer(in: fields)
    }

    /// Whether the value of one of the fields may be another one after the change. Of a row that comes or goes, and of
    /// several rows, any may be.
    package func mayDiffer(in fields: Set<String>) -> Bool {
        guard let before, let after, let changed else { return true }
        return changed.contains { field in
            guard fields.contains(field) else { return false }
            guard !isOfFollowers, let former = before[field], let latter = after[field] else { return true }
            return former != latter
        }
    }
}

/// The changes of rows that an event tells of.
///
/// At most `max` are listed one by one; a table with more is listed once, as one of which any row may have changed.
package struct RowChanges: Sendable, Hashable {
    /// The most changes of one event that are listed one by one.
    package static let max = 256

    package private(set) var all: [RowChange] = []
    /// The tables of which any row may have changed: further changes of these say nothing.
    private var anyRow: Set<String> = []

    package init() {}

    package init(_ changes: [RowChange]) { append(contentsOf: changes) }

    /// Returns the changes with these fields of their images only, by table. Those that are then equal are one.
    package func telling(_ fields: [String: RecordedFields]) -> RowChanges {
        func reduced(_ image: JSONObject?, _ wanted: Set<String>) -> JSONObject? {
            guard let image else { return nil }
            var reduced = JSONObject()
            for entry in image.entries where wanted.contains(entry.key) { reduced[entry.key] = entry.value }
            return reduced
        }
        var seen: Set<RowChange> = []
        var result = RowChanges()
        for var change in all {
            let wanted = fields[change.table] ?? RecordedFields()
            change.before = reduced(change.before, wanted.former)
            change.after = reduced(change.after, wanted.all)
            if seen.insert(change).inserted { result.append(change) }
        }
        return result
    }

    /// Returns both together; nil if the others are unknown.
    package func adding(_ others: RowChanges?) -> RowChanges? {
        guard let others else { return nil }
        var both = self
        both.append(contentsOf: others.all)
        return both
    }

    package mutating func append(_ change: RowChange) { append(contentsOf: [change]) }

    package mutating func append(contentsOf changes: [RowChange]) {
        for change in changes where !anyRow.contains(change.table) {
            all.append(change)
            if change.isAnything { anyRow.insert(change.table) }
        }
        guard all.count > Self.max else { return }
        // The tables with the most changes lose their details first.
        var counts: [String: Int] = [:]
        for change in all { counts[change.table, default: 0] += 1 }
        for (table, count) in counts.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) where count > 1 {
            all.removeAll { $0.table == table }
            all.append(.anything(in: table))
            anyRow.insert(table)
            if all.count <= Self.max { return }
        }
    }
}

extension RowChange {
    /// The change in its encoded form, as JSON text.
    package var text: String { encoded.text }

    /// `["bid",{"lotId":…},{"lotId":…},["amount"]]`: table, before, after, changed fields. Each of the last three may
    /// be null; `true` stands for an image after that is the one before. A fifth part `true` says `isOfFollowers`.
    var encoded: JSONValue {
        .array(
            [
                .string(table), before.map { .object($0) } ?? .null, after.map { .object($0) } ?? .null,
                changed.map { .array($0.map { .string($0) }) } ?? .null,
            ] + (isOfFollowers ? [.bool(true)] : []))
    }

    init(encoded: JSONValue) throws(MessageError) {
        guard case .array(let parts) = encoded, parts.count == 4 || parts.count == 5 && parts[4] == .bool(true),
            let table = parts[0].stringValue
        else {
            throw MessageError(field: "rows")
        }
        func image(_ value: JSONValue) throws(MessageError) -> JSONObject? {
            if value.isNull { return nil }
            guard case .object(let object) = value else { throw MessageError(field: "rows") }
            return object
        }
        var changed: [String]?
        if !parts[3].isNull {
            guard let fields = parts[3].arrayValue?.map(\.stringValue), !fields.contains(nil) else {
                throw MessageError(field: "rows")
            }
            changed = fields.compactMap { $0 }
        }
        let before = try image(parts[1])
        let after = parts[2] == .bool(true) ? before : try image(parts[2])
        self.init(
            table: table, before: before, after: after, changed: changed,
            isOfFollowers: parts.count == 5)
    }
}
