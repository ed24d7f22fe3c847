package import SchemaModel

// What a mutation means, every name bound to the schema.

package struct MutationField: Sendable {
    package let responseKey: String
    package let inclusion: Inclusion
    package let kind: Kind
    package var policy = FieldPolicy()

    package init(responseKey: String, inclusion: Inclusion, kind: Kind, policy: FieldPolicy = FieldPolicy()) {
        self.responseKey = responseKey
        self.inclusion = inclusion
        self.kind = kind
        self.policy = policy
    }

    package enum Kind: Sendable {
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
package enum FilterDemand: Sendable {
    /// `all: true`
    case everyRow
    /// A filter whose variables were all left out would mean every row, which nobody asked for: refused.
    case someTest
}

/// `_insert` and `_upsert`.
package struct Insert: Sendable {
    package let table: Table
    package let row: RowData
    package let isUpsert: Bool
    package let returning: [ReturnedField]
}

/// `_insertMany` and `_upsertMany`.
package struct InsertMany: Sendable {
    package let table: Table
    package let rows: Rows
    package let isUpsert: Bool
    package let returning: [ReturnedField]

    package enum Rows: Sendable {
        case literal([RowData])
        /// A variable of type `[T_Data]`; `row` reads one element, under the name `InsertMany.element`.
        case variable(String, row: RowData)
    }

    /// Stands for the current element of the list; no GraphQL variable has this name.
    package static let element = "*"
}

/// Rows with nested rows. Those of an upsert are upserts too, each by its own key.
package struct InsertTrees: Sendable {
    /// Each row is a part of the statement of its own, see `RowData.needsOwnPart`.
    package static let rowsMax = 100

    package let table: Table
    package let rows: [RowData]
    package let isUpsert: Bool
    /// The result is a list.
    package let isMany: Bool
    package let returning: [ReturnedField]
}

/// Nested rows: `reviews_on_movie: [{…}]`. Their columns of the reference come from the row around.
package struct ChildRows: Sendable {
    package let relation: InverseRelation
    package let rows: [RowData]
    /// `reviews_on_movie: $reviews`; `rows` is then what these may be.
    var dynamic: DynamicRows?
}

/// The columns of one row, in the order of the table.
package struct RowData: Sendable {
    /// What is given, by column field.
    package var given: [String: Assignment]
    /// What the node fills in when a column is not given.
    package let defaults: [String: Operand]
    package var children: [ChildRows] = []
    /// A variable brings the row; all else is then what it may be.
    var dynamic: DynamicRows?

    /// This row and all below.
    package var count: Int { 1 + children.reduce(0) { $0 + $1.rows.reduce(0) { $0 + $1.count } } }
}

package struct Assignment: Sendable {
    package let column: Column
    package let value: Value

    package enum Value: Sendable {
        case set(Operand)
        /// `_update: [{inc: 1}]`: the change as the SQL round `column` and the operand.
        case change(Change, Operand)
        /// `_update: [{inc: {days: 1}}]` of a date or time.
        case shift(isForward: Bool, [Shift])
        /// A variable brings the change; before the request is there, the column may be written, and no more is known.
        case dynamic(DynamicChange)
    }

    /// So much of a unit; nothing when null or not sent.
    package struct Shift: Sendable {
        package let unit: RelativeTime.Unit
        package let count: Operand
    }

    package enum Change: String, Sendable, CaseIterable {
        case inc, dec, append, prepend, add, remove
    }

    /// What must have been sent for the assignment to take part; empty when it always does.
    package let required: [Condition]
}

/// A field of a mutation's result.
package struct ReturnedField: Sendable {
    package let responseKey: String
    package let inclusion: Inclusion
    package let kind: Kind

    package enum Kind: Sendable {
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
