package import SchemaModel

// The conditions of a resolved operation.

/// A condition on rows. A test is dropped if its variable was not sent or, in queries, is null (see
/// `TemplateBuilder.NullOperands`); a condition without tests is dropped too.
package indirect enum Filter: Sendable {
    case all([Filter])
    case any([Filter])
    case not(Filter)
    case column(Column, ColumnTest)
    /// A condition on the row that a reference points to.
    case referenced(Reference, Table, Filter)
    /// At least one row refers to this one and matches.
    case exists(RelatedRows, Filter)
    /// Tests of the number of matching rows; requires at least one row if no test remains.
    case count(RelatedRows, Filter, [ColumnTest])
    /// A test of a group's aggregate, in `having`.
    case aggregate(Aggregate, ColumnTest)
    /// A filter that a variable supplies, known with the request.
    case variable(FilterVariable)
}

/// A variable used as a filter: `where: $filter`, `having: $having`, `_or: $filters`.
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
    /// The path of the filter within the variable.
    package var path: [String] = []
    /// Set if the variable is a list.
    var junction: Junction?
}

/// The rows on the other side of a generated relation.
package enum RelatedRows: Sendable {
    case inverse(InverseRelation)
    case manyToMany(ManyToManyRelation)

    /// The table whose rows are filtered and counted; for many-to-many relations the target behind the join table.
    package var table: Table {
        switch self {
        case .inverse(let relation): relation.child
        case .manyToMany(let relation): relation.target
        }
    }
}

/// A test of a column's value.
package enum ColumnTest: Sendable {
    case isNull(NullTest)
    /// Compares with a single value.
    case compare(Comparison, Operand)
    /// `in` and `nin` with a list.
    case member(Operand, isNegated: Bool)
    case match(Match, Operand, isNegated: Bool)
    /// Compares lists.
    case list(ListComparison, Operand, isNegated: Bool)
    /// A test that matches nothing: a variable supplied null for an operator other than `eq` and `ne`.
    case null
    /// The tests in a variable of type `String_Filter` or `String_Pattern`.
    case variable(String, InputTypeRef)

    /// A comparison; the raw value is the SQL operator.
    package enum Comparison: String, Sendable {
        case equal = "="
        case notEqual = "<>"
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
    }

    /// A pattern match; the raw value is the SQL operator.
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

    /// A comparison of lists; the raw value is the SQL operator.
    package enum ListComparison: String, Sendable {
        case contains = "@>"
        case overlaps = "&&"
    }

    package enum NullTest: Sendable {
        case constant(Bool)
        case variable(String)
        /// `eq` or `ne` with a null in a variable of a filter type.
        case sent(Bool)
    }
}
