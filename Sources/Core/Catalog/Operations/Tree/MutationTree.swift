// What a mutation means, every name bound to the schema.

struct MutationField: Sendable {
    let responseKey: String
    let inclusion: Inclusion
    let kind: Kind
    var policy = FieldPolicy()

    enum Kind: Sendable {
        case insert(Insert)
        case insertMany(InsertMany)
        /// Rows that bring rows of other tables.
        case insertTrees(InsertTrees)
        /// Which rows and changes a variable brings is known with the request.
        indirect case dynamic(DynamicField)
        case update(Table, RowTarget, [Assignment], [ReturnedField])
        case updateMany(Table, Filter, [Assignment], FilterDemand)
        case delete(Table, RowTarget, [ReturnedField])
        case deleteMany(Table, Filter, FilterDemand)
        case native(NativeSQL)
        /// `query { … }`: a read between the writes.
        case read([RootField])
        /// What a custom resolver does.
        case remote(RemoteField)
        case typeName(String)
    }
}

/// Whether a filter may end up without a test.
enum FilterDemand: Sendable {
    /// `all: true`
    case everyRow
    /// A filter whose variables were all left out would mean every row, which nobody asked for: refused.
    case someTest
}

/// `_insert` and `_upsert`.
struct Insert: Sendable {
    let table: Table
    let row: RowData
    let isUpsert: Bool
    let returning: [ReturnedField]
}

/// `_insertMany` and `_upsertMany`.
struct InsertMany: Sendable {
    let table: Table
    let rows: Rows
    let isUpsert: Bool
    let returning: [ReturnedField]

    enum Rows: Sendable {
        case literal([RowData])
        /// A variable of type `[T_Data]`; `row` reads one element, under the name `InsertMany.element`.
        case variable(String, row: RowData)
    }

    /// Stands for the current element of the list; no GraphQL variable has this name.
    static let element = "*"
}

/// Rows with nested rows. Those of an upsert are upserts too, each by its own key.
struct InsertTrees: Sendable {
    /// Each row is a part of the statement of its own, see `RowData.needsOwnPart`.
    static let rowsMax = 100

    let table: Table
    let rows: [RowData]
    let isUpsert: Bool
    /// The result is a list.
    let isMany: Bool
    let returning: [ReturnedField]
}

/// Nested rows: `reviews_on_movie: [{…}]`. Their columns of the reference come from the row around.
struct ChildRows: Sendable {
    let relation: InverseRelation
    let rows: [RowData]
    /// `reviews_on_movie: $reviews`; `rows` is then what these may be.
    var dynamic: DynamicRows?
}

/// The columns of one row, in the order of the table.
struct RowData: Sendable {
    /// What is given, by column field.
    var given: [String: Assignment]
    /// What the node fills in when a column is not given.
    let defaults: [String: Operand]
    var children: [ChildRows] = []
    /// A variable brings the row; all else is then what it may be.
    var dynamic: DynamicRows?

    /// This row and all below.
    var count: Int { 1 + children.reduce(0) { $0 + $1.rows.reduce(0) { $0 + $1.count } } }
}

struct Assignment: Sendable {
    let column: Column
    let value: Value

    enum Value: Sendable {
        case set(Operand)
        /// `_update: [{inc: 1}]`: the change as the SQL round `column` and the operand.
        case change(Change, Operand)
        /// `_update: [{inc: {days: 1}}]` of a date or time.
        case shift(isForward: Bool, [Shift])
        /// A variable brings the change; before the request is there, the column may be written, and no more is known.
        case dynamic(DynamicChange)
    }

    /// So much of a unit; nothing when null or not sent.
    struct Shift: Sendable {
        let unit: RelativeTime.Unit
        let count: Operand
    }

    enum Change: String, Sendable, CaseIterable {
        case inc, dec, append, prepend, add, remove
    }

    /// What must have been sent for the assignment to take part; empty when it always does.
    let required: [Condition]
}

/// A field of a mutation's result.
struct ReturnedField: Sendable {
    let responseKey: String
    let inclusion: Inclusion
    let kind: Kind

    enum Kind: Sendable {
        case column(Column)
        case typeName(String)
    }

    var policy = FieldPolicy()
}

extension ResponsePolicy {
    static func children(of fields: [MutationField]) -> [ResponsePolicy] {
        fields.compactMap { field in
            ResponsePolicy(field.responseKey, field.inclusion, field.policy, children: children(of: field.kind))
        }
    }

    private static func children(of kind: MutationField.Kind) -> [ResponsePolicy] {
        switch kind {
        case .insert(let insert): children(of: insert.returning)
        case .insertMany(let insert): children(of: insert.returning)
        case .insertTrees(let insert): children(of: insert.returning)
        case .dynamic(let dynamic): children(of: dynamic.widest)
        case .update(_, _, _, let returned), .delete(_, _, let returned): children(of: returned)
        case .read(let fields): children(of: fields)
        case .remote(let remote): remote.policies
        case .updateMany, .deleteMany, .native, .typeName: []
        }
    }

    private static func children(of fields: [ReturnedField]) -> [ResponsePolicy] {
        fields.compactMap { ResponsePolicy($0.responseKey, $0.inclusion, $0.policy, children: []) }
    }
}
