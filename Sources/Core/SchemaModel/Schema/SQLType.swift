/// The Postgres type that a parameter is cast to.
package struct SQLType: Sendable, Hashable {
    /// The type's name in a cast, quoted if necessary: `uuid`, `double precision`, `"genre"`.
    package let name: String
    /// Whether the parameter is an array, passed as an array literal.
    package let isList: Bool

    package init(name: String, isList: Bool = false) {
        self.name = name
        self.isList = isList
    }

    /// `uuid` or `uuid[]`.
    package var text: String { isList ? name + "[]" : name }
}

extension Schema {
    /// Returns the type that values of a column are bound as.
    package func sqlType(of type: ColumnType) -> SQLType {
        SQLType(name: sqlName(of: type.scalar), isList: type.isList)
    }

    private func sqlName(of scalar: ScalarType) -> String {
        if let name = scalar.sqlTypeName { return name }
        let name = scalar.typeName
        return SQLName.quoted(enums[name]?.name ?? name)
    }
}
