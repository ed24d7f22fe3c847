package import SchemaModel

// The resolved form of mutations, with every name bound to the schema.

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
        /// Rows with nested rows of other tables.
        case insertTrees(InsertTrees)
        /// An insert, update or upsert whose rows or updates come from a variable and are known only with the request.
        indirect case dynamic(DynamicField)
        case update(Table, RowTarget, [Assignment], [ReturnedField])
        case updateMany(Table, Filter, [Assignment], FilterRequirement)
        case delete(Table, RowTarget, [ReturnedField])
        case deleteMany(Table, Filter, FilterRequirement)
        case native(NativeSQL)
        /// `query { … }`: a read between writes.
        case read([RootField])
        /// A field that a custom resolver provides.
        case remote(RemoteField)
        case typeName(String)
    }
}

/// Whether a filter may be without any test.
package enum FilterRequirement: Sendable {
    /// `all: true`
    case everyRow
    /// At least one test is required. Otherwise, omitting all variables of a filter would select every row.
    case someTest
}

/// `novel_insert` and `novel_upsert`.
package struct Insert: Sendable {
    package let table: Table
    package let row: RowData
    package let isUpsert: Bool
    package let returning: [ReturnedField]
}

/// `novel_insertMany` and `novel_upsertMany`.
package struct InsertMany: Sendable {
    package let table: Table
    package let rows: Rows
    package let isUpsert: Bool
    package let returning: [ReturnedField]

    package enum Rows: Sendable {
        case literal([RowData])
        /// A variable of type `[T_Data]`; `row` reads one element under the name `InsertMany.element`.
        case variable(String, row: RowData)
    }

    /// Denotes the current element of the list; no GraphQL variable can have this name.
    package static let element = "*"
}

/// Rows with nested rows. In an upsert, nested rows are upserted too, each by its own key.
package struct InsertTrees: Sendable {
    /// The most rows: each is a separate part of the statement (see `RowData.needsOwnPart`).
    package static let rowsMax = 100

    package let table: Table
    package let rows: [RowData]
    package let isUpsert: Bool
    /// Whether the result is a list.
    package let isMany: Bool
    package let returning: [ReturnedField]
}

/// Nested rows: `remarks_on_novel: [{…}]`. The enclosing row supplies their reference's columns.
package struct ChildRows: Sendable {
    package let relation: InverseRelation
    package let rows: [RowData]
    /// Set for `remarks_on_novel: $remarks`; `rows` then describes all possible rows.
    var dynamic: DynamicRows?
}

/// The data of one row.
package struct RowData: Sendable {
    /// The given columns, by field name.
    package var given: [String: Assignment]
    /// The defaults that the node evaluates for columns that are not given.
    package let defaults: [String: Operand]
    package var children: [ChildRows] = []
    /// Set if a variable supplies the row; the other properties then describe all possible rows.
    var dynamic: DynamicRows?

    /// The number of rows, including nested ones.
    package var count: Int { 1 + children.reduce(0) { $0 + $1.rows.reduce(0) { $0 + $1.count } } }
}

package struct Assignment: Sendable {
    package let column: Column
    package let value: Value

    package enum Value: Sendable {
        case set(Operand)
        /// `_update: [{inc: 1}]`: an SQL operation on `column` and the operand.
        case change(Change, Operand)
        /// `_update: [{inc: {days: 1}}]` on a date or time.
        case shift(isForward: Bool, [Shift])
        /// An update that a variable supplies; until the request, it is only known that the column may be written.
        case dynamic(DynamicChange)
    }

    /// A number of units; none if null or not sent.
    package struct Shift: Sendable {
        package let unit: RelativeTime.Unit
        package let count: Operand
    }

    package enum Change: String, Sendable, CaseIterable {
        case inc, dec, append, prepend, add, remove
    }

    /// The conditions under which the assignment applies; empty if it always does.
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
