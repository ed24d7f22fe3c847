// What a mutation means, every name bound to the schema.

struct MutationField: Sendable {
    let responseKey: String
    let inclusion: Inclusion
    let kind: Kind

    enum Kind: Sendable {
        case insert(Insert)
        case insertMany(InsertMany)
        case update(Table, RowTarget, [Assignment], [ReturnedField])
        case updateMany(Table, Filter, [Assignment], FilterDemand)
        case delete(Table, RowTarget, [ReturnedField])
        case deleteMany(Table, Filter, FilterDemand)
        case native(NativeSQL)
        /// `query { … }`: a read between the writes.
        case read([RootField])
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

/// The columns of one row, in the order of the table.
struct RowData: Sendable {
    /// What is given, by column field.
    let given: [String: Assignment]
    /// What the node fills in when a column is not given.
    let defaults: [String: Operand]
}

struct Assignment: Sendable {
    let column: Column
    let value: Value

    enum Value: Sendable {
        case set(Operand)
        /// `_update: [{inc: 1}]`: the change as the SQL round `column` and the operand.
        case change(Change, Operand)
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
}
