package import JSON
package import SchemaModel

/// A variable of a stored operation.
package struct VariableSpec: Sendable {
    package let name: String
    /// The type in GraphQL syntax: `[Novel_Data!]!`.
    package let typeText: String
    /// Whether it must be sent: non-null without a default.
    package let isRequired: Bool
    package var hasDefault: Bool { defaultValue != nil }

    package let type: InputType
    /// The default in canonical form; JSON null if it is null.
    package let defaultValue: JSONValue?
    package let plan: CoercionPlan
    /// The fields that a `_Data` variable may set; nil for other types.
    let allowlist: InputAllowlist?
    /// Whether it is used as `limit` or `offset`, and must not be negative.
    var isCount = false
    /// The most rows, including nested ones, in a variable that supplies or contains nested rows.
    var rowsMax: Int?

    init(name: String, type: InputType, defaultValue: JSONValue?, allowlist: InputAllowlist?, schema: Schema) {
        self.name = name
        self.typeText = type.text
        self.type = type
        self.defaultValue = defaultValue
        self.isRequired = type.isNonNull && defaultValue == nil
        self.allowlist = allowlist
        self.plan = CoercionPlan(type, schema: schema, allowlist: allowlist)
        if allowlist?.isFlat == false { rowsMax = InputAllowlist.dynamicRowsMax }
    }

    /// Returns the number of rows in a coerced value of a `_Data` type.
    func rowCount(_ value: JSONValue) -> Int { Self.rowCount(value, plan) }

    private static func rowCount(_ value: JSONValue, _ plan: CoercionPlan) -> Int {
        if let rows = value.arrayValue { return rows.reduce(0) { $0 + rowCount($1, plan) } }
        guard value.objectValue != nil else { return 0 }
        return plan.rowMembers.reduce(1) { count, member in
            guard case .list(.nonNull(.object), _) = member.plan, let rows = value[member.name] else { return count }
            return count + rowCount(rows, member.plan)
        }
    }
}

/// How to validate and canonicalise a variable's value, with every type resolved.
package indirect enum CoercionPlan: Sendable {
    case scalar(ScalarType)
    /// One of a set of enum values.
    case word([String])
    case list(CoercionPlan, countMax: Int)
    case object(typeName: String, [Member])
    /// `Novel_Filter`, `Novel_Order`, …; these types may be recursive.
    case generated(InputTypeRef)
    /// `Date_Relative`, `Timestamp_Relative`
    case relative(isDate: Bool)
    /// `Int_Update` and similar types, for a column of this type.
    case change(ColumnType)
    case nonNull(CoercionPlan)

    package struct Member: Sendable {
        package let name: String
        package let plan: CoercionPlan
        package let isRequired: Bool
        /// Other members that set the same column.
        var conflicts: [String] = []
    }

    /// The fields of a row of a `_Data` type, or of a list of it. Lists of objects are nested rows.
    var rowMembers: [Member] {
        switch self {
        case .list(let inner, _), .nonNull(let inner): inner.rowMembers
        case .object(_, let members): members
        case .scalar, .word, .generated, .relative, .change: []
        }
    }

    /// The most elements in a list variable, unless `@allow` sets a lower limit.
    static let listCountMax = 10_000
    /// The most elements in an order, each of which is a part of the statement.
    static let orderCountMax = 16

    init(_ type: InputType, schema: Schema, allowlist: InputAllowlist?) {
        switch type {
        case .scalar(let scalar): self = .scalar(scalar)
        case .orderDirection: self = .word(SortOrder.allCases.map(\.rawValue))
        case .searchFormat: self = .word(TextSearch.Format.allCases.map(\.rawValue))
        case .key(let typeName): self = Self.key(typeName, schema)
        case .data(let typeName): self = Self.data(typeName, schema, allowlist)
        case .relative(let isDate): self = .relative(isDate: isDate)
        case .duration(let isDate):
            let units = isDate ? RelativeTime.Unit.ofDates : RelativeTime.Unit.allCases
            self = .object(
                typeName: type.text,
                units.map { Member(name: $0.rawValue, plan: .scalar(.int), isRequired: false) })
        case .generated(let input): self = .generated(input)
        case .list(let element):
            let countMax =
                switch element.nullable {
                case .generated(.change): 1
                case .generated: Self.orderCountMax
                case .scalar, .key, .data, .relative, .duration, .orderDirection, .searchFormat, .list, .nonNull:
                    allowlist?.countMax ?? Self.listCountMax
                }
            self = .list(CoercionPlan(element, schema: schema, allowlist: allowlist), countMax: countMax)
        case .nonNull(let inner):
            self = .nonNull(CoercionPlan(inner, schema: schema, allowlist: allowlist))
        }
    }

    private static func key(_ typeName: String, _ schema: Schema) -> CoercionPlan {
        let columns = schema.table(ofType: typeName)?.keyColumns ?? []
        return .object(
            typeName: "\(typeName)_Key",
            columns.map {
                Member(
                    name: $0.field, plan: CoercionPlan(InputType($0.type), schema: schema, allowlist: nil),
                    isRequired: true)
            })
    }

    private static func data(_ typeName: String, _ schema: Schema, _ allowlist: InputAllowlist?) -> CoercionPlan {
        guard let table = schema.table(ofType: typeName) else { return .object(typeName: typeName, []) }
        var members: [(member: Member, columns: [String])] = []
        func add(_ name: String, _ plan: CoercionPlan, columns: [String]) {
            members.append((Member(name: name, plan: plan, isRequired: false), columns))
        }
        func allows(_ name: String) -> Bool { allowlist?.fields?.contains(name) ?? true }
        for column in table.columns {
            if allows(column.field) {
                add(
                    column.field, CoercionPlan(InputType(column.type), schema: schema, allowlist: nil),
                    columns: [column.field])
            }
            for (name, plan) in DynamicRows.plans(of: column, in: table)
            where allowlist?.changes.contains(name) ?? false {
                add(name, plan, columns: [column.field])
            }
        }
        for reference in table.references where allows(reference.field) && reference.targetFieldsAreKey(in: schema) {
            add(reference.field, key(reference.targetType, schema), columns: reference.localFields)
        }
        for relation in schema.inverseRelations(ofType: typeName) {
            guard let inner = allowlist?.children[relation.name] else { continue }
            let row = data(relation.child.typeName, schema, inner)
            add(
                relation.name, .list(.nonNull(row), countMax: relation.isSingle ? 1 : inner.countMax), columns: [])
        }
        let conflicts = members.map { mine in
            members.filter { $0.member.name != mine.member.name && !Set($0.columns).isDisjoint(with: mine.columns) }
                .map(\.member.name)
        }
        return .object(
            typeName: "\(typeName)_Data",
            zip(members, conflicts).map { entry, conflicts in
                var member = entry.member
                member.conflicts = conflicts
                return member
            })
    }
}

extension Reference {
    /// Whether a `_Key` of the target determines all columns of this reference.
    package func targetFieldsAreKey(in schema: Schema) -> Bool {
        guard let target = schema.table(ofType: targetType) else { return false }
        return Set(target.key) == Set(targetFields)
    }
}

extension SortOrder: CaseIterable {
    package static var allCases: [SortOrder] { [.ascending, .descending] }
}
