import JSON
import LiveModel
import SchemaModel

/// The row changes that messages about one table describe.
///
/// An image has a field only if its value is certain and has the same text as in images of own mutations; any other
/// field is unknown.
struct RowMapping: Sendable {
    private struct MappedField: Sendable {
        let name: String
        /// The field's place in images; nil if images do not tell it.
        let told: (position: Int, typeOID: UInt32, scalar: ScalarType)?
        /// The columns that hold the field; nil if the messages lack one, as they do generated columns.
        let positions: [Int]?
    }

    private let relation: ReplicationMessage.Relation
    private let fields: [MappedField]
    /// See `CapturedTables`.
    private let tellsFormerRows: Bool

    init(_ relation: ReplicationMessage.Relation, table: CapturedTables.CapturedTable) {
        self.relation = relation
        tellsFormerRows = !table.isPartitioned
        var positions: [String: Int] = [:]
        for (position, column) in relation.columns.enumerated() { positions[column.name] = position }
        fields = table.fields.map { field in
            let found = field.columns.compactMap { positions[$0.name] }
            let told = field.toldColumn.flatMap { column in
                positions[column.name].flatMap { position in
                    table.recorded.all.contains(field.name) && !column.type.isList
                        ? (position, relation.columns[position].typeOID, column.type.scalar) : nil
                }
            }
            return MappedField(
                name: field.name, told: told, positions: found.count == field.columns.count ? found : nil)
        }
    }

    func insert(_ new: [ReplicationMessage.Value]) -> RowChange {
        guard new.count == relation.columns.count else { return .anything(in: relation.name) }
        return RowChange(table: relation.name, before: nil, after: image(new))
    }

    func delete(_ old: ReplicationMessage.OldRow) -> RowChange {
        guard let before = image(old) else { return .anything(in: relation.name) }
        return RowChange(table: relation.name, before: tellsFormerRows ? before : [:], after: nil)
    }

    func update(_ old: ReplicationMessage.OldRow?, _ new: [ReplicationMessage.Value]) -> RowChange {
        guard new.count == relation.columns.count else { return .anything(in: relation.name) }
        guard tellsFormerRows else { return RowChange(table: relation.name, before: [:], after: image(new)) }
        switch old {
        case .full(let values):
            guard values.count == new.count else { return .anything(in: relation.name) }
            // A former row has its stored values whole, so an unchanged one is known from there.
            let after = zip(values, new).map { $1 == .unchanged ? $0 : $1 }
            return RowChange(
                table: relation.name, before: image(values), after: image(after), changed: changed(values, after))
        case .identity:
            guard let old, let before = image(old) else { return .anything(in: relation.name) }
            return RowChange(table: relation.name, before: before, after: image(new))
        case nil:
            // The values of the identity are as they were, unless the table has none.
            let isKeyKept = [.primaryKey, .index].contains(relation.identity)
            return RowChange(
                table: relation.name, before: isKeyKept ? image(new, identityOnly: true) : [:], after: image(new))
        }
    }

    private func changed(_ old: [ReplicationMessage.Value], _ new: [ReplicationMessage.Value]) -> [String] {
        fields.filter { field in
            field.positions?.contains { old[$0] != new[$0] } ?? true
        }.map(\.name)
    }

    private func image(_ old: ReplicationMessage.OldRow) -> JSONObject? {
        switch old {
        case .full(let values): values.count == relation.columns.count ? image(values) : nil
        case .identity(let values):
            values.count == relation.columns.count ? image(values, identityOnly: true) : nil
        }
    }

    private func image(_ values: [ReplicationMessage.Value], identityOnly: Bool = false) -> JSONObject {
        var image = JSONObject()
        for field in fields {
            guard let told = field.told, !identityOnly || relation.columns[told.position].isIdentity,
                let value = Self.value(values[told.position], typeOID: told.typeOID, scalar: told.scalar),
                RowChange.tells(value)
            else { continue }
            image[field.name] = value
        }
        return image
    }

    /// Returns nil if the value is unknown.
    ///
    /// Unknown is a column whose type in the database is not the standard one of its scalar, and a time that the
    /// session's settings (ISO, UTC) would not show so.
    private static func value(
        _ value: ReplicationMessage.Value, typeOID: UInt32, scalar: ScalarType
    ) -> JSONValue? {
        switch value {
        case .null: return .null
        case .unchanged: return nil
        case .text(let bytes):
            guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
            switch (scalar, typeOID) {
            case (.uuid, TypeOID.uuid): return .string(text.filter { $0 != "-" })
            case (.boolean, TypeOID.bool): return text == "t" ? .bool(true) : text == "f" ? .bool(false) : nil
            case (.int, TypeOID.int2), (.int, TypeOID.int4), (.int, TypeOID.int8), (.int64, TypeOID.int2),
                (.int64, TypeOID.int4), (.int64, TypeOID.int8):
                return Int64(text).map { .int($0) }
            case (.string, TypeOID.text), (.string, TypeOID.varchar): return .string(text)
            case (.enumeration, let oid) where oid >= TypeOID.firstOther: return .string(text)
            case (.date, TypeOID.date): return isDate(bytes) ? .string(text) : nil
            case (.timestamp, TypeOID.timestamptz): return timestamp(bytes).map { .string($0) }
            default: return nil
            }
        }
    }

    /// Whether it is a date from the year 1 to 9999.
    private static func isDate(_ text: some Sequence<UInt8>) -> Bool { matches(text, "0000-00-00") }

    /// Returns the wire form of `2026-01-31 12:00:00.5+00`.
    private static func timestamp(_ text: some BidirectionalCollection<UInt8>) -> String? {
        guard text.count >= 22, text.suffix(3).elementsEqual("+00".utf8) else { return nil }
        let local = text.dropLast(3)
        let fraction = local.dropFirst(19)
        guard matches(local.prefix(19), "0000-00-00 00:00:00"), fraction.count <= 7,
            fraction.isEmpty || fraction.count > 1 && fraction.first == UInt8(ascii: "."),
            fraction.dropFirst().allSatisfy(isDigit)
        else { return nil }
        let digits = String(decoding: fraction.dropFirst(), as: UTF8.self)
        let seconds = String(decoding: local.prefix(19), as: UTF8.self).replacing(" ", with: "T")
        return seconds + "." + digits + String(repeating: "0", count: 6 - digits.utf8.count) + "Z"
    }

    /// Whether the text has a digit for each 0 of the form and is otherwise the same.
    private static func matches(_ text: some Sequence<UInt8>, _ form: StaticString) -> Bool {
        form.withUTF8Buffer { form in
            var count = 0
            for byte in text {
                guard count < form.count,
                    form[count] == UInt8(ascii: "0") ? isDigit(byte) : byte == form[count]
                else { return false }
                count += 1
            }
            return count == form.count
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// Numbers of built-in types, which are the same in every database.
    private enum TypeOID {
        static let bool: UInt32 = 16
        static let int8: UInt32 = 20
        static let int2: UInt32 = 21
        static let int4: UInt32 = 23
        static let text: UInt32 = 25
        static let varchar: UInt32 = 1043
        static let date: UInt32 = 1082
        static let timestamptz: UInt32 = 1184
        static let uuid: UInt32 = 2950
        /// The first that is not built in.
        static let firstOther: UInt32 = 16384
    }
}
