/// The result of the first stage: all declarations, with extensions merged, names unique and directives checked. Types
/// are not yet resolved against each other.
struct DeclaredSchema {
    /// The types in the order of files and definitions.
    var types: [DeclaredType] = []
    var enums: [String: EnumType] = [:]
    /// The range of each enum's name, for later diagnostics.
    var enumRanges: [String: FileRange] = [:]
    private var positions: [String: Int] = [:]

    func type(named name: String) -> DeclaredType? {
        positions[name].map { types[$0] }
    }

    mutating func add(_ type: DeclaredType) {
        positions[type.name] = types.count
        types.append(type)
    }
}

struct DeclaredType {
    let name: String
    /// The range of the name in the definition; fields and directives may come from extensions in other files.
    let range: FileRange
    /// The `@table` or `@view` directive.
    let table: DirectiveUse
    /// The type's `@unique` and `@index` directives, in order.
    let directives: [DirectiveUse]
    var fields: [DeclaredField]

    var isView: Bool { table.name == "view" }

    func field(named name: String) -> DeclaredField? {
        fields.first { $0.name == name }
    }
}

struct DeclaredField {
    enum Kind {
        case column(ColumnType)
        /// A field of a table type: a reference.
        case reference(typeName: String)
    }

    let name: String
    /// The range of the field's name.
    let range: FileRange
    let typeRange: FileRange
    let kind: Kind
    let isNullable: Bool
    let directives: [DirectiveUse]

    func directive(_ name: String) -> DirectiveUse? {
        directives.first { $0.name == name }
    }
}
