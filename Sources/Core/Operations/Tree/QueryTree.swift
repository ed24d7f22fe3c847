import JSON
package import SchemaModel

// The resolved form of queries, with every name bound to the schema; the input of SQL rendering.

/// A root field with the condition under which it is included.
package struct RootField: Sendable {
    package let responseKey: String
    package let inclusion: Inclusion
    package let kind: Kind
    var policy = FieldPolicy()

    package enum Kind: Sendable {
        case lookup(Lookup)
        case list(RowList)
        case native(NativeSQL)
        /// A field that a custom resolver provides.
        case remote(RemoteField)
        /// `__typename`
        case typeName(String)
    }
}

/// `novel(id:)`, `novel(key:)`, `novel(first:)`: one row or null.
package struct Lookup: Sendable {
    package let table: Table
    package let target: RowTarget
    package let object: ObjectSelection
}

/// The selection of a single row.
package enum RowTarget: Sendable {
    /// Operands in key order.
    case key([Operand])
    case first(Filter, [OrderTerm])
    /// `first: $first`: the value of a variable of type `Novel_FirstRow`, known with the request.
    case variable(String)
}

/// `novels(…)`, `remarks_on_novel(…)`, `makers_via_NovelMaker(…)`, `novels_search(…)`.
package struct RowList: Sendable {
    package let source: RowSource
    package let arguments: ListArguments
    package let content: Content

    package enum Content: Sendable {
        case rows(ObjectSelection)
        /// One object per group of rows with equal plain fields; without plain fields, one group of all rows.
        case groups([GroupField])
    }
}

/// The source of a list's rows.
package enum RowSource: Sendable {
    case table(Table)
    /// The rows that refer to the enclosing row.
    case inverse(InverseRelation)
    /// The rows that a join table leads to; filters and orders apply to the join table.
    case manyToMany(ManyToManyRelation)
    case search(Table, TextSearch)
    case similarity(Table, Similarity)

    /// The table whose rows are returned.
    package var table: Table {
        switch self {
        case .table(let table), .search(let table, _), .similarity(let table, _): table
        case .inverse(let relation): relation.child
        case .manyToMany(let relation): relation.target
        }
    }

    /// The table that the list's arguments refer to.
    var argumentTable: Table {
        if case .manyToMany(let relation) = self { relation.join } else { table }
    }
}

package struct ListArguments: Sendable {
    package var filter: Filter = .all([])
    /// Conditions on groups.
    package var having: Filter = .all([])
    package var order: [OrderTerm] = []
    package var limit: Bound = .constant(ListArguments.limitDefault)
    package var offset: Bound = .constant(0)
    package var isDistinct = BooleanArgument.constant(false)
    /// Whether the operation has a `limit` or `offset` for the list.
    package var isPaged = false

    /// The number of rows returned without `limit`. Source: docs/reference/sql-connect.md §5.4.
    package static let limitDefault: Int64 = 100
}

/// A Boolean argument.
package enum BooleanArgument: Sendable {
    case constant(Bool)
    /// False if null or not sent.
    case variable(String)
}

/// The value of `limit` or `offset`.
package enum Bound: Sendable {
    case constant(Int64)
    /// A variable; `whenAbsent` applies if it is null or was not sent.
    case operand(Operand, whenAbsent: Int64)
}

package enum OrderTerm: Sendable {
    case key(OrderKey, Direction)
    /// `orderBy: $order`: the value of a variable of type `Novel_Order` or a list of it, known with the request.
    case variable(String)

    package enum Direction: Sendable {
        case constant(SortOrder)
        /// `ASC` if null or not sent.
        case variable(String)
    }
}

/// A key that rows are ordered by.
package indirect enum OrderKey: Sendable {
    case column(Column)
    /// A key of the row that a reference points to.
    case referenced(Reference, Table, OrderKey)
    /// A key of the single row that refers to this one.
    case single(InverseRelation, OrderKey)
    case aggregate(Aggregate)
}

package struct ObjectSelection: Sendable {
    package let table: Table
    package let fields: [ObjectField]
    /// Whether each row includes its entity id (see `EntityIDs.swift`).
    package var hasEntityID = false
    /// The columns whose values each row includes so that later changes can be compared (see `RowsTree.swift`).
    package var carriedColumns: [Column] = []
}

package struct ObjectField: Sendable {
    package let responseKey: String
    package let inclusion: Inclusion
    package let kind: Kind
    var policy = FieldPolicy()

    package indirect enum Kind: Sendable {
        case column(Column)
        case typeName(String)
        case reference(Reference, ObjectSelection)
        /// A list; see `single` for one-to-one relations.
        case list(RowList)
        case single(InverseRelation, ObjectSelection)
        /// `_id`
        case globalID
        /// `_metadata`
        case metadata([MetadataField])
    }
}

/// A field of `_metadata`.
package struct MetadataField: Sendable {
    package let responseKey: String
    package let inclusion: Inclusion
    package let kind: Kind

    package enum Kind: String, Sendable, CaseIterable {
        /// The distance to the compared vector; null outside `_similarity`.
        case distance
        /// The relevance for the searched words; null outside `_search`.
        case relevance
        case typeName = "__typename"
    }
}

/// A field of a list with aggregates.
package struct GroupField: Sendable {
    package let responseKey: String
    package let inclusion: Inclusion
    package let kind: Kind
    var policy = FieldPolicy()

    package enum Kind: Sendable {
        /// A column or reference that rows are grouped by.
        case plain(ObjectField.Kind)
        case aggregate(Aggregate)
    }
}

/// `novels_search(query:queryFormat:relevanceThreshold:)`.
package struct TextSearch: Sendable {
    package let query: Operand
    package let format: FormatArgument
    package let relevanceMin: Operand?

    package enum Format: String, Sendable, CaseIterable {
        case query = "QUERY"
        case plain = "PLAIN"
        case phrase = "PHRASE"
        case advanced = "ADVANCED"
    }

    package enum FormatArgument: Sendable {
        case constant(Format)
        /// The name of a variable; `QUERY` if it has no value.
        case variable(String)
    }
}

/// `novels_embedding_similarity(compare:method:within:)`.
package struct Similarity: Sendable {
    package let column: Column
    package let vector: Operand
    package let method: SimilarityMethod
    package let distanceMax: Operand?
}

/// SQL written by the developer: `_select`, `_execute` and related fields.
package struct NativeSQL: Sendable {
    package enum Part: Sendable {
        case text(String)
        case operand(Operand)
    }

    package enum Result: Sendable {
        /// A list of objects, the first object or null, or the number of affected rows.
        case rows, firstRow, affectedCount
    }

    package let parts: [Part]
    package let result: Result
    /// The tables in which a mutation may change rows by it; nil if they may be any.
    package var writes: SQLWrites.Finding?

    /// The text with `NULL::type` in place of its parameters.
    var textWithNulls: String {
        parts.map { part in
            switch part {
            case .text(let text): text
            case .operand(let operand): "NULL::\(operand.sqlType.text)"
            }
        }.joined()
    }
}
