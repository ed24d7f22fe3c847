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
                    table.recorded.contains(field.name) && !column.type.isList
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
    /// Types whose texts depend on settings of the server's session, such as dates, are unknown, as is a column whose
    /// type in the database is not the standard one of its scalar.
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
            default: return nil
            }
        }
    }

    /// Numbers of built-in types, which are the same in every database.
    private enum TypeOID {
        static let bool: UInt32 = 16
        static let int8: UInt32 = 20
        static let int2: UInt32 = 21
        static let int4: UInt32 = 23
        static let text: UInt32 = 25
        static let varchar: UInt32 = 1043
        static let uuid: UInt32 = 2950
        /// The first that is not built in.
        static let firstOther: UInt32 = 16384
    }
}
