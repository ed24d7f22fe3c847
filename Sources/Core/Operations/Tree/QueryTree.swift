import JSON
package import SchemaModel

// What a query means, every name bound to the schema: the outcome of resolution, the input of rendering.

/// A node that takes part under a condition.
package struct RootField: Sendable {
    package let responseKey: String
    package let inclusion: Inclusion
    package let kind: Kind
    var policy = FieldPolicy()

    package enum Kind: Sendable {
        case lookup(Lookup)
        case list(RowList)
        case native(NativeSQL)
        /// What a custom resolver answers.
        case remote(RemoteField)
        /// `__typename`
        case typeName(String)
    }
}

/// `movie(id:)`, `movie(key:)`, `movie(first:)`: one row or null.
package struct Lookup: Sendable {
    package let table: Table
    package let target: RowTarget
    package let object: ObjectSelection
}

/// Which single row.
package enum RowTarget: Sendable {
    /// In the order of the table's key.
    case key([Operand])
    case first(Filter, [OrderTerm])
    /// `first: $first`: what a variable of a type `Movie_FirstRow` says, when the request is there.
    case variable(String)
}

/// `movies(…)`, `reviews_on_movie(…)`, `actors_via_MovieActor(…)`, `movies_search(…)`.
package struct RowList: Sendable {
    package let source: RowSource
    package let arguments: ListArguments
    package let content: Content

    package enum Content: Sendable {
        case rows(ObjectSelection)
        /// One object for each group of rows with the same plain fields; without plain fields one for all rows.
        case groups([GroupField])
    }
}

/// Where the rows of a list come from.
package enum RowSource: Sendable {
    case table(Table)
    /// Those that refer to the row around.
    case inverse(InverseRelation)
    /// Those that a join table leads to; its rows are filtered and ordered.
    case manyToMany(ManyToManyRelation)
    case search(Table, TextSearch)
    case similarity(Table, Similarity)

    /// The rows that are shown.
    package var table: Table {
        switch self {
        case .table(let table), .search(let table, _), .similarity(let table, _): table
        case .inverse(let relation): relation.child
        case .manyToMany(let relation): relation.target
        }
    }

    /// The rows that arguments are about.
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

    /// Rows of a list without `limit`. Source: docs/reference/sql-connect.md §5.4.
    package static let limitDefault: Int64 = 100
}

/// A Boolean argument.
package enum BooleanArgument: Sendable {
    case constant(Bool)
    /// False when null or not sent.
    case variable(String)
}

package enum Bound: Sendable {
    case constant(Int64)
    /// A variable; `whenAbsent` if it is null or was not sent.
    case operand(Operand, whenAbsent: Int64)
}

package enum OrderTerm: Sendable {
    case key(OrderKey, Direction)
    /// `orderBy: $order`: what a variable of a type `Movie_Order` or a list of it says, when the request is there.
    case variable(String)

    package enum Direction: Sendable {
        case constant(SortOrder)
        /// `ASC` when null or not sent.
        case variable(String)
    }
}

/// What rows are ordered by.
package indirect enum OrderKey: Sendable {
    case column(Column)
    /// Something of the row that a reference points to.
    case referenced(Reference, Table, OrderKey)
    /// Something of the one row that refers to this one.
    case single(InverseRelation, OrderKey)
    case aggregate(Aggregate)
}

package struct ObjectSelection: Sendable {
    package let table: Table
    package let fields: [ObjectField]
    /// Each row comes with its entity id, see `EntityIDs`.
    package var hasEntityID = false
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
        /// A list, or for a one-to-one relation the row or null.
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
        /// From the vector compared with; null outside of `_similarity`.
        case distance
        /// To the words searched; null outside of `_search`.
        case relevance
        case typeName = "__typename"
    }
}

/// A field of a list that has aggregates.
package struct GroupField: Sendable {
    package let responseKey: String
    package let inclusion: Inclusion
    package let kind: Kind
    var policy = FieldPolicy()

    package enum Kind: Sendable {
        /// A plain column or a reference: rows are grouped by it.
        case plain(ObjectField.Kind)
        case aggregate(Aggregate)
    }
}

/// `movies_search(query:queryFormat:relevanceThreshold:)`.
package struct TextSearch: Sendable {
    package let query: Operand
    package let format: Format
    package let relevanceMin: Operand?

    package enum Format: String, Sendable, CaseIterable {
        case query = "QUERY"
        case plain = "PLAIN"
        case phrase = "PHRASE"
        case advanced = "ADVANCED"
    }
}

/// `movies_embedding_similarity(compare:method:within:)`.
package struct Similarity: Sendable {
    package let column: Column
    package let vector: Operand
    package let method: SimilarityMethod
    package let distanceMax: Operand?
}

/// A condition on rows. A test whose variable was not sent is no test, nor in queries one whose variable is null, see
/// `TemplateBuilder.NullOperands`; what has no test left is left out.
package indirect enum Filter: Sendable {
    case all([Filter])
    case any([Filter])
    case not(Filter)
    case column(Column, ColumnTest)
    /// The row that a reference points to.
    case referenced(Reference, Table, Filter)
    /// At least one row that refers to this one.
    case exists(RelatedRows, Filter)
    /// How many rows match; at least one when no test is left.
    case count(RelatedRows, Filter, [ColumnTest])
    /// Of a group, in `having`.
    case aggregate(Aggregate, ColumnTest)
    /// What a variable says, when the request is there.
    case variable(FilterVariable)
}

/// `where: $filter`, `having: $having`, `_or: $filters`.
package struct FilterVariable: Sendable {
    enum Subject: Sendable {
        case rows(Table)
        case groups(Table)
        case related(RelatedRows)

        var input: InputTypeRef {
            switch self {
            case .rows(let table): .filter(table.typeName)
            case .groups(let table): .having(table.typeName)
            case .related(let rows): .listFilter(rows.table.typeName)
            }
        }
    }

    enum Junction: Sendable {
        case all, any
    }

    package let name: String
    let subject: Subject
    /// Of the filter inside the variable.
    package var path: [String] = []
    /// Of a variable that is a list.
    var junction: Junction?
}

/// Rows on the other side of a generated relation.
package enum RelatedRows: Sendable {
    case inverse(InverseRelation)
    case manyToMany(ManyToManyRelation)

    /// The rows that are filtered and counted: for many-to-many those of the join table.
    package var table: Table {
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

package enum ColumnTest: Sendable {
    case isNull(NullTest)
    /// With a single value.
    case compare(Comparison, Operand)
    /// `in` and `nin` with a list.
    case member(Operand, isNegated: Bool)
    case match(Match, Operand, isNegated: Bool)
    /// Between lists.
    case list(ListComparison, Operand, isNegated: Bool)
    /// What can match nothing: a variable of such a type says null for another operator than `eq` and `ne`.
    case null
    /// What a variable of a type `String_Filter` or `String_Pattern` asks.
    case variable(String, InputTypeRef)

    /// By its operator in SQL.
    package enum Comparison: String, Sendable {
        case equal = "="
        case notEqual = "<>"
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
    }

    /// By its operator in SQL.
    package enum Match: String, Sendable {
        case like = "LIKE"
        case likeIgnoringCase = "ILIKE"
        case regex = "~"
        case regexIgnoringCase = "~*"

        init(isLike: Bool, ignoreCase: Bool) {
            self =
                isLike
                ? (ignoreCase ? .likeIgnoringCase : .like) : (ignoreCase ? .regexIgnoringCase : .regex)
        }
    }

    /// By its operator in SQL.
    package enum ListComparison: String, Sendable {
        case contains = "@>"
        case overlaps = "&&"
    }

    package enum NullTest: Sendable {
        case constant(Bool)
        case variable(String)
        /// `eq`, or `ne`, with a null that a variable of a filter's type brought.
        case sent(Bool)
    }
}

/// `_select`, `_execute` and their kin: the developer's own SQL.
package struct NativeSQL: Sendable {
    package enum Part: Sendable {
        case text(String)
        case operand(Operand)
    }

    package enum Result: Sendable {
        /// A list of objects, the first object or null, or how many rows were touched.
        case rows, firstRow, affectedCount
    }

    package let parts: [Part]
    package let result: Result
}
