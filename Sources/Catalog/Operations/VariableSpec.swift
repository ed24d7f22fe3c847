internal import JSON

/// One variable of a stored operation.
package struct VariableSpec: Sendable {
    package let name: String
    /// As GraphQL writes it: `[Movie_Data!]!`.
    package let typeText: String
    /// Non-null and without default: must be sent.
    package let isRequired: Bool
    package var hasDefault: Bool { defaultValue != nil }

    let type: InputType
    /// In canonical form; null if the default is null.
    let defaultValue: JSONValue?
    let plan: CoercionPlan
    /// What `@allow` lets a `_Data` variable bring; nil for other types.
    let allowance: DataAllowance?
    /// Stands in `limit` or `offset`: not negative.
    private(set) var isCount = false

    var asCount: VariableSpec {
        var other = self
        other.isCount = true
        return other
    }

    init(name: String, type: InputType, defaultValue: JSONValue?, allowance: DataAllowance?, schema: Schema) {
        self.name = name
        self.typeText = type.text
        self.type = type
        self.defaultValue = defaultValue
        self.isRequired = type.isNonNull && defaultValue == nil
        self.allowance = allowance
        self.plan = CoercionPlan(type, schema: schema, allowance: allowance)
    }
}

/// `@allow(fields:maxCount:)` of a variable.
struct DataAllowance: Sendable {
    /// Fields that may be sent; nil for all.
    let fields: Set<String>?
    /// Rows at most, if the variable is a list.
    let countMax: Int

    static let countMaxDefault = 100
}

/// How a value sent for a variable is checked, with every type resolved.
indirect enum CoercionPlan: Sendable {
    case scalar(ScalarType)
    /// One of a few words.
    case word([String])
    case list(CoercionPlan, countMax: Int)
    case object(typeName: String, [Member])
    /// `Movie_Filter` and `Movie_Order` of the type named; they may hold themselves.
    case filter(String)
    case order(String)
    case nonNull(CoercionPlan)

    struct Member: Sendable {
        let name: String
        let plan: CoercionPlan
        let isRequired: Bool
    }

    /// Elements of a list variable, where `@allow` does not say less.
    static let listCountMax = 10_000
    /// Elements of an order, each a part of the statement.
    static let orderCountMax = 16

    init(_ type: InputType, schema: Schema, allowance: DataAllowance?) {
        switch type {
        case .scalar(let scalar): self = .scalar(scalar)
        case .orderDirection: self = .word(SortOrder.allCases.map(\.rawValue))
        case .key(let typeName): self = Self.key(typeName, schema)
        case .data(let typeName): self = Self.data(typeName, schema, allowance)
        case .filter(let typeName): self = .filter(typeName)
        case .order(let typeName): self = .order(typeName)
        case .list(let element):
            self = .list(
                CoercionPlan(element, schema: schema, allowance: allowance),
                countMax: element.isDynamic ? Self.orderCountMax : allowance?.countMax ?? Self.listCountMax)
        case .nonNull(let inner):
            self = .nonNull(CoercionPlan(inner, schema: schema, allowance: allowance))
        }
    }

    private static func key(_ typeName: String, _ schema: Schema) -> CoercionPlan {
        let columns = schema.table(ofType: typeName)?.keyColumns ?? []
        return .object(
            typeName: "\(typeName)_Key",
            columns.map {
                Member(
                    name: $0.field, plan: CoercionPlan(InputType($0.type), schema: schema, allowance: nil),
                    isRequired: true)
            })
    }

    private static func data(_ typeName: String, _ schema: Schema, _ allowance: DataAllowance?) -> CoercionPlan {
        guard let table = schema.table(ofType: typeName) else { return .object(typeName: typeName, []) }
        let columns = table.columns.map {
            Member(
                name: $0.field, plan: CoercionPlan(InputType($0.type), schema: schema, allowance: nil),
                isRequired: false)
        }
        let references = table.references.filter { $0.targetFieldsAreKey(in: schema) }.map {
            Member(name: $0.field, plan: key($0.targetType, schema), isRequired: false)
        }
        let members = (columns + references).filter { allowance?.fields?.contains($0.name) ?? true }
        return .object(typeName: "\(typeName)_Data", members)
    }
}

extension Reference {
    /// Whether a `_Key` of the target says all that this reference's columns need.
    func targetFieldsAreKey(in schema: Schema) -> Bool {
        guard let target = schema.table(ofType: targetType) else { return false }
        return Set(target.key) == Set(targetFields)
    }
}

extension SortOrder: CaseIterable {
    package static var allCases: [SortOrder] { [.ascending, .descending] }
}
