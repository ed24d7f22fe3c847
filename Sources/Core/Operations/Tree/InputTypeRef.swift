package import SchemaModel

/// A generated input type whose value determines the text of a statement, not only its parameters. Source:
/// docs/reference/sql-connect.md §5.4 and §5.5.
package enum InputTypeRef: Sendable, Hashable {
    /// `Novel_Filter`, with the table's type name.
    case filter(String)
    /// `Novel_ListFilter`: which rows of a relation to count, and how many.
    case listFilter(String)
    /// `Novel_Having`: conditions on groups.
    case having(String)
    case order(String)
    /// `Novel_FirstRow`: a filter and an order.
    case firstRow(String)
    /// `String_Pattern`
    case pattern
    /// `Int_Update`, `String_ListUpdate`: one update of a column of this type.
    case change(ColumnType)
    /// `String_Filter`, `Int_ListFilter`: the operators of a column type.
    case tests(ColumnType)

    var typeName: String {
        switch self {
        case .filter(let type): "\(type)_Filter"
        case .listFilter(let type): "\(type)_ListFilter"
        case .having(let type): "\(type)_Having"
        case .order(let type): "\(type)_Order"
        case .firstRow(let type): "\(type)_FirstRow"
        case .pattern: "String_Pattern"
        case .change(let type): type.updateName
        case .tests(let type): type.filterName
        }
    }

    /// The type name of the table or view that it belongs to, if any.
    package var table: String? {
        switch self {
        case .filter(let type), .listFilter(let type), .having(let type), .order(let type), .firstRow(let type): type
        case .tests, .pattern, .change: nil
        }
    }
}

extension Schema {
    func inputTypeRef(named name: String) -> InputTypeRef? {
        guard let position = name.lastIndex(of: "_") else { return nil }
        let base = String(name[..<position])
        let suffix = name[name.index(after: position)...]
        if table(ofType: base) != nil {
            switch suffix {
            case "Filter": return .filter(base)
            case "ListFilter": return .listFilter(base)
            case "Having": return .having(base)
            case "Order": return .order(base)
            case "FirstRow": return self.table(ofType: base)?.view == nil ? .firstRow(base) : nil
            default: return nil
            }
        }
        guard let scalar = ScalarType.named(base) ?? (enums[base] == nil ? nil : .enumeration(base)) else { return nil }
        switch suffix {
        case "Filter", "ListFilter": return .tests(ColumnType(scalar, isList: suffix == "ListFilter"))
        case "Pattern": return scalar == .string ? .pattern : nil
        case "Update", "ListUpdate":
            let type = ColumnType(scalar, isList: suffix == "ListUpdate")
            return type.changes.isEmpty ? nil : .change(type)
        default: return nil
        }
    }
}

/// A variable whose value determines the text of a statement.
package struct DynamicVariable: Sendable {
    package let name: String
    /// Set for a variable of a `_Data` type, whose values are parameters but whose fields and rows determine the text.
    package let rows: CoercionPlan?
}
