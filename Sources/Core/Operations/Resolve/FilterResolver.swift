import GraphQLLanguage
import JSON
import SchemaModel

/// Resolves `where`. Source: docs/reference/sql-connect.md §5.5.
extension OperationScope {
    func filter(_ value: Value, _ table: Table, in file: SourceFile) -> Filter {
        if value.isNull { return .all([]) }
        if value.variableName != nil { return variable(value, .rows(table), in: file) }
        let inverses = schema.inverseRelations(ofType: table.typeName)
        let joins = schema.manyToManyRelations(ofType: table.typeName)
        let offered =
            ["_and", "_or", "_not"] + table.columns.map(\.field) + table.references.map(\.field)
            + inverses.map(\.name) + joins.map(\.name)
        guard let fields = inputFields(value, of: "\(table.typeName)_Filter", offered: offered, in: file) else {
            return .all([])
        }
        return .all(
            fields.map { name, value in
                switch name.value {
                case "_and": return junction(.all, value, .rows(table), in: file)
                case "_or": return junction(.any, value, .rows(table), in: file)
                case "_not": return .not(filter(value, table, in: file))
                default: break
                }
                if let column = table.column(ofField: name.value) {
                    return .all(tests(value, column.type, in: file).map { .column(column, $0) })
                }
                if let reference = table.reference(ofField: name.value),
                    let target = schema.table(ofType: reference.targetType)
                {
                    return .referenced(reference, target, filter(value, target, in: file))
                }
                if let relation = inverses.first(where: { $0.name == name.value }) {
                    return relation.isSingle
                        ? .exists(.inverse(relation), filter(value, relation.child, in: file))
                        : related(.inverse(relation), value, in: file)
                }
                if let relation = joins.first(where: { $0.name == name.value }) {
                    return related(.manyToMany(relation), value, in: file)
                }
                return .all([])
            })
    }

    /// Resolves `where: $filter`. Where a list is allowed, the variable may be a list.
    private func variable(
        _ value: Value, _ subject: FilterVariable.Subject, _ junction: FilterVariable.Junction? = nil,
        in file: SourceFile
    ) -> Filter {
        let range = FileRange(range: value.range, file: file)
        guard let variable = value.variableName.flatMap({ use(variable: $0, at: range) }) else { return .all([]) }
        let type = InputType.generated(subject.input)
        if variable.type.nullable == type {
            return .variable(FilterVariable(name: variable.name, subject: subject))
        }
        if let junction, case .list(let element) = variable.type.nullable, element.nullable == type {
            return .variable(FilterVariable(name: variable.name, subject: subject, junction: junction))
        }
        mismatch(variable, expected: junction == nil ? type.text : "[\(type.text)!]", at: range)
        return .all([])
    }

    /// Resolves `_and: […]`, `_or: […]`, or a variable that is a list.
    func junction(
        _ junction: FilterVariable.Junction, _ value: Value, _ subject: FilterVariable.Subject, in file: SourceFile
    ) -> Filter {
        if value.variableName != nil { return variable(value, subject, junction, in: file) }
        let filters = (value.listValue ?? [value]).map { value in
            switch subject {
            case .rows(let table): filter(value, table, in: file)
            case .groups(let table): having(value, table, in: file)
            case .related(let rows): related(rows, value, in: file)
            }
        }
        return junction == .all ? .all(filters) : .any(filters)
    }

    /// Resolves `{exist: {…}}` and `{count: {gt: 2}, exist: {…}}`, which test the number of matching rows: at least one
    /// unless `count` is given.
    private func related(_ rows: RelatedRows, _ value: Value, in file: SourceFile) -> Filter {
        if value.variableName != nil { return variable(value, .related(rows), in: file) }
        let typeName = InputTypeRef.listFilter(rows.table.typeName).typeName
        guard let fields = inputFields(value, of: typeName, offered: ["exist", "count"], in: file) else {
            return .all([])
        }
        func field(_ name: String) -> Value? { fields.first { $0.name.value == name }?.value }
        let matching = field("exist").map { filter($0, rows.table, in: file) } ?? .all([])
        guard let count = field("count"), !count.isNull else { return .exists(rows, matching) }
        return .count(rows, matching, tests(count, ColumnType(.int), in: file))
    }

    /// Resolves `having: $having`, or a literal such as `{_count: {gt: 2}, rating_avg: {ge: 3.5}}`.
    func having(_ value: Value, _ table: Table, in file: SourceFile) -> Filter {
        if value.isNull { return .all([]) }
        if value.variableName != nil { return variable(value, .groups(table), in: file) }
        let offered = ["_and", "_or", "_not", "_distinct"] + aggregateNames(table)
        guard let fields = inputFields(value, of: "\(table.typeName)_Having", offered: offered, in: file) else {
            return .all([])
        }
        let isDistinct = fields.first { $0.name.value == "_distinct" }.map { flag($0.value, "_distinct", in: file) }
        return .all(
            fields.map { name, value in
                switch name.value {
                case "_and": return junction(.all, value, .groups(table), in: file)
                case "_or": return junction(.any, value, .groups(table), in: file)
                case "_not": return .not(having(value, table, in: file))
                case "_distinct": return .all([])
                default:
                    guard let aggregate = namedAggregate(name, table, in: file)?.distinct(isDistinct ?? false) else {
                        return .all([])
                    }
                    return .all(tests(value, aggregate.type, in: file).map { .aggregate(aggregate, $0) })
                }
            })
    }

    // MARK: Operators

    func tests(_ value: Value, _ type: ColumnType, in file: SourceFile) -> [ColumnTest] {
        if value.isNull { return [] }
        let input = InputTypeRef.tests(type)
        if value.variableName != nil { return testVariable(value, input, in: file) }
        let operators = FilterOperator.of(type).map(\.name)
        guard let fields = inputFields(value, of: input.typeName, offered: operators, listsOffered: true, in: file)
        else { return [] }
        return fields.flatMap { name, value in
            FilterOperator.named(name.value, of: type).map { test($0, value, type, in: file) } ?? []
        }
    }

    private func testVariable(_ value: Value, _ input: InputTypeRef, in file: SourceFile) -> [ColumnTest] {
        variable(value, .generated(input), in: file).map { [.variable($0, input)] } ?? []
    }

    private func test(
        _ filterOperator: FilterOperator, _ value: Value, _ type: ColumnType, in file: SourceFile
    ) -> [ColumnTest] {
        if value.isNull {
            // A literal null is intentional: it tests for rows without a value.
            if let isNull = filterOperator.nullMatch { return [.isNull(.constant(isNull))] }
            refuseNull(filterOperator.name, at: value, in: file)
            return []
        }
        switch filterOperator.argument {
        case .flag: return nullTest(value, in: file)
        case .pattern: return pattern(value, in: file)
        case .operand(let form, let test): return operand(value, form, type, in: file).map { [test($0)] } ?? []
        }
    }

    private func operand(
        _ value: Value, _ form: FilterOperator.OperandForm, _ type: ColumnType, in file: SourceFile
    ) -> Operand? {
        let element = ColumnType(type.scalar)
        return switch form {
        case .element: operand(value, type: element, in: file)
        case .list: operand(value, type: ColumnType(type.scalar, isList: true), in: file)
        case .part(let pattern): operand(value, type: element, in: file, pattern: pattern)
        case .expression: expressionOperand(value, type: element, in: file)
        case .relative: relativeOperand(value, type: element, in: file)
        }
    }

    /// Reports a comparison with null, which would match no row.
    private func refuseNull(_ name: String, at value: Value, in file: SourceFile) {
        error(.valueType, at: FileRange(range: value.range, file: file), "\(name) cannot compare with null")
    }

    private func nullTest(_ value: Value, in file: SourceFile) -> [ColumnTest] {
        if let flag = value.boolValue { return [.isNull(.constant(flag))] }
        guard let operand = operand(value, type: ColumnType(.boolean), in: file),
            case .variable(let name, _) = operand.source
        else { return [] }
        return [.isNull(.variable(name))]
    }

    private func flag(_ value: Value, _ name: String, in file: SourceFile) -> Bool {
        if let flag = value.boolValue { return flag }
        error(
            .valueType, at: FileRange(range: value.range, file: file), "\"\(name)\" must be a literal true or false")
        return false
    }

    /// Resolves `{like: "A%", ignoreCase: true}`, `{regex: "^A", invert: true}` or a variable.
    func pattern(_ value: Value, in file: SourceFile) -> [ColumnTest] {
        if value.variableName != nil { return testVariable(value, .pattern, in: file) }
        let offered = ["like", "regex", "ignoreCase", "invert"]
        guard let fields = inputFields(value, of: "String_Pattern", offered: offered, in: file) else { return [] }
        func flag(_ name: String) -> Bool {
            fields.first { $0.name.value == name }.map { self.flag($0.value, name, in: file) } ?? false
        }
        let ignoreCase = flag("ignoreCase")
        let invert = flag("invert")
        let patterns = fields.filter { $0.name.value == "like" || $0.name.value == "regex" }
        guard patterns.count == 1, let (name, text) = patterns.first else {
            error(
                .valueType, at: FileRange(range: value.range, file: file),
                "a pattern takes either \"like\" or \"regex\"")
            return []
        }
        if text.isNull {
            refuseNull(name.value, at: text, in: file)
            return []
        }
        let match = ColumnTest.Match(isLike: name.value == "like", ignoreCase: ignoreCase)
        return operand(text, type: ColumnType(.string), in: file).map {
            [.match(match, $0, isNegated: invert)]
        } ?? []
    }
}
