package import SchemaModel

/// An operator of a filter, such as `eq`: its applicable columns, its argument and its test.
/// Source: docs/reference/sql-connect.md §5.5.
///
/// `all` is the only list of operators. `FilterResolver` (literals), `InputInterpreter` (variables), `InputCoercion`
/// (validation of variables), `ScalarDefinitions` (input types) and, through `ColumnTest`, the SQL renderer use it. To
/// add an operator, add a row to `rows`; to add a kind of argument or test, add an enum case that all of them switch
/// over.
package struct FilterOperator: Sendable {
    /// The argument of the operator.
    enum Argument: Sendable {
        /// `Boolean`: whether the column has a value.
        case flag
        /// `String_Pattern`.
        case pattern
        /// A value to compare the column with.
        case operand(OperandForm, @Sendable (Operand) -> ColumnTest)

        static func element(_ test: @escaping @Sendable (Operand) -> ColumnTest) -> Argument {
            .operand(.element, test)
        }

        static func list(_ test: @escaping @Sendable (Operand) -> ColumnTest) -> Argument { .operand(.list, test) }

        static func part(_ pattern: Operand.Pattern) -> Argument {
            .operand(.part(pattern)) { .match(.like, $0, isNegated: false) }
        }
    }

    /// The form of an operand.
    enum OperandForm: Sendable {
        /// A value of the column's scalar type.
        case element
        /// A list of such values.
        case list
        /// A text that becomes part of a `LIKE` pattern.
        case part(Operand.Pattern)
        /// `…_expr`: a CEL expression. Allowed in operations, not in variables.
        case expression
        /// `…_date` or `…_time`: a moment relative to another.
        case relative(isDate: Bool)
    }

    /// The columns that the operator applies to.
    private enum Domain: Sendable {
        case every, single, ordered, text, list

        func contains(_ type: ColumnType) -> Bool {
            switch self {
            case .every: true
            case .list: type.isList
            case .single: !type.isList
            case .ordered:
                switch type.scalar {
                case .string, .int, .int64, .float, .date, .timestamp, .enumeration: !type.isList
                case .uuid, .boolean, .any, .vector: false
                }
            case .text: !type.isList && type.scalar == .string
            }
        }
    }

    package let name: String
    let argument: Argument
    /// Whether a null argument matches rows without a value (true) or rows with one (false). Nil if it matches nothing.
    let nullMatch: Bool?
    private let domain: Domain

    private init(_ name: String, _ domain: Domain, _ argument: Argument, nullMatch: Bool? = nil) {
        self.name = name
        self.domain = domain
        self.argument = argument
        self.nullMatch = nullMatch
    }

    /// The operators, in the order in which input types list them. An operator that takes an element also exists in the
    /// other forms of `spellings`.
    private static let rows: [FilterOperator] = [
        FilterOperator("isNull", .every, .flag),
        FilterOperator("in", .single, .list { .member($0, isNegated: false) }),
        FilterOperator("nin", .single, .list { .member($0, isNegated: true) }),
        FilterOperator("eq", .single, .element { .compare(.equal, $0) }, nullMatch: true),
        FilterOperator("ne", .single, .element { .compare(.notEqual, $0) }, nullMatch: false),
        FilterOperator("gt", .ordered, .element { .compare(.greater, $0) }),
        FilterOperator("ge", .ordered, .element { .compare(.greaterOrEqual, $0) }),
        FilterOperator("lt", .ordered, .element { .compare(.less, $0) }),
        FilterOperator("le", .ordered, .element { .compare(.lessOrEqual, $0) }),
        FilterOperator("contains", .text, .part(.contains)),
        FilterOperator("startsWith", .text, .part(.startsWith)),
        FilterOperator("endsWith", .text, .part(.endsWith)),
        FilterOperator("pattern", .text, .pattern),
        FilterOperator("includes", .list, .element { .list(.contains, $0, isNegated: false) }),
        FilterOperator("excludes", .list, .element { .list(.contains, $0, isNegated: true) }),
        FilterOperator("includesAll", .list, .list { .list(.contains, $0, isNegated: false) }),
        FilterOperator("excludesAll", .list, .list { .list(.overlaps, $0, isNegated: true) }),
    ]

    /// All operators in all spellings.
    static let all: [FilterOperator] = rows.flatMap(\.spellings)

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// The spellings of an operator: `eq`, `eq_expr`, `eq_date`, `eq_time`.
    private var spellings: [FilterOperator] {
        guard case .operand(.element, let test) = argument else { return [self] }
        let others: [(suffix: FieldForm, form: OperandForm)] = [
            (.expression, .expression), (.date, .relative(isDate: true)), (.time, .relative(isDate: false)),
        ]
        return [self] + others.map { FilterOperator($0.suffix.name(of: name), domain, .operand($0.form, test)) }
    }

    /// Returns the operators that apply to a column type.
    package static func of(_ type: ColumnType) -> [FilterOperator] { all.filter { $0.applies(to: type) } }

    /// Returns the operator with this name; nil if it does not apply to the type.
    static func named(_ name: String, of type: ColumnType) -> FilterOperator? {
        byName[name].flatMap { $0.applies(to: type) ? $0 : nil }
    }

    func applies(to type: ColumnType) -> Bool {
        guard domain.contains(type) else { return false }
        return switch argument {
        case .operand(.expression, _): type.scalar != .vector
        case .operand(.relative(let isDate), _): type.scalar == (isDate ? .date : .timestamp)
        case .flag, .pattern, .operand(.element, _), .operand(.list, _), .operand(.part, _): true
        }
    }

    /// Whether variables may use the operator: expressions come only from developers.
    var isOfVariables: Bool {
        if case .operand(.expression, _) = argument { false } else { true }
    }

    /// Returns the GraphQL type of the argument.
    package func argumentType(of type: ColumnType) -> String {
        let element = type.elementText
        return switch argument {
        case .flag: "Boolean"
        case .pattern: InputTypeRef.pattern.typeName
        case .operand(.element, _), .operand(.part, _): element
        case .operand(.list, _): "[\(element)!]"
        case .operand(.expression, _): "\(element)_Expr"
        case .operand(.relative(let isDate), _): InputType.relative(isDate: isDate).text
        }
    }
}
