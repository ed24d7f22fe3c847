internal import JSON

// What a query means, every name bound to the schema: the outcome of resolution, the input of rendering.

/// A node that takes part under a condition.
struct RootField: Sendable {
    let responseKey: String
    let inclusion: Inclusion
    let kind: Kind

    enum Kind: Sendable {
        case lookup(Lookup)
        case list(RowList)
        case native(NativeSQL)
        /// `__typename`
        case typeName(String)
    }
}

/// `movie(id:)`, `movie(key:)`, `movie(first:)`: one row or null.
struct Lookup: Sendable {
    let table: Table
    let target: RowTarget
    let object: ObjectSelection
}

/// Which single row.
enum RowTarget: Sendable {
    /// In the order of the table's key.
    case key([Operand])
    case first(Filter, [OrderTerm])
}

/// `movies(…)` or `reviews_on_movie(…)`.
struct RowList: Sendable {
    let table: Table
    let arguments: ListArguments
    let content: Content

    enum Content: Sendable {
        case rows(ObjectSelection)
        /// One object computed from all rows.
        case aggregates([AggregateField])
    }
}

struct ListArguments: Sendable {
    var filter: Filter = .all([])
    var order: [OrderTerm] = []
    var limit: Bound = .constant(ListArguments.limitDefault)
    var offset: Bound = .constant(0)

    /// Rows of a list without `limit`. Source: SQL Connect language §5.4.
    static let limitDefault: Int64 = 100
}

enum Bound: Sendable {
    case constant(Int64)
    /// A variable; `whenAbsent` if it is null or was not sent.
    case operand(Operand, whenAbsent: Int64)
}

struct OrderTerm: Sendable {
    let column: Column
    let direction: Direction

    enum Direction: Sendable {
        case constant(SortOrder)
        /// `ASC` when null or not sent.
        case variable(String)
    }
}

struct ObjectSelection: Sendable {
    let table: Table
    let fields: [ObjectField]
}

struct ObjectField: Sendable {
    let responseKey: String
    let inclusion: Inclusion
    let kind: Kind

    indirect enum Kind: Sendable {
        case column(Column)
        case typeName(String)
        case reference(Reference, ObjectSelection)
        case inverse(InverseRelation, RowList)
        case manyToMany(ManyToManyRelation, ListArguments, ObjectSelection)
    }
}

struct AggregateField: Sendable {
    let responseKey: String
    let inclusion: Inclusion
    let kind: Kind

    enum Kind: Sendable {
        case countRows
        case function(Function, Column, distinct: Bool)
        case typeName(String)
    }

    enum Function: String, Sendable, CaseIterable {
        case count, sum, avg, min, max
    }
}

/// A condition on rows. A test whose variable is null or was not sent is no test; what has no test left is left out.
indirect enum Filter: Sendable {
    case all([Filter])
    case any([Filter])
    case not(Filter)
    case column(Column, ColumnTest)
    /// The row that a reference points to.
    case referenced(Reference, Table, Filter)
    /// At least one row that refers to this one.
    case exists(RelatedRows, Filter)
    case count(RelatedRows, ColumnTest)
}

/// Rows on the other side of a generated relation.
enum RelatedRows: Sendable {
    case inverse(InverseRelation)
    case manyToMany(ManyToManyRelation)

    /// The rows that are filtered and counted: for many-to-many those of the join table.
    var table: Table {
        switch self {
        case .inverse(let relation): relation.child
        case .manyToMany(let relation): relation.join
        }
    }

    var reference: Reference {
        switch self {
        case .inverse(let relation): relation.reference
        case .manyToMany(let relation): relation.near
        }
    }
}

enum ColumnTest: Sendable {
    case isNull(NullTest)
    /// `=`, `<>`, `<`, … with a single value.
    case compare(String, Operand)
    /// `in` and `nin` with a list.
    case member(Operand, isNegated: Bool)
    /// `LIKE`, `ILIKE`, `~`, `~*`
    case match(String, Operand, isNegated: Bool)
    /// `@>` and `&&` between lists.
    case list(String, Operand, isNegated: Bool)

    enum NullTest: Sendable {
        case constant(Bool)
        case variable(String)
    }
}

/// `_select`, `_execute` and their kin: the developer's own SQL.
struct NativeSQL: Sendable {
    enum Part: Sendable {
        case text(String)
        case operand(Operand)
    }

    enum Result: Sendable {
        /// A list of objects, the first object or null, or how many rows were touched.
        case rows, firstRow, affectedCount
    }

    let parts: [Part]
    let result: Result
}
