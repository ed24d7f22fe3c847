/// Prints the types of a connector in TypeScript, as both the web and the admin package declare them.
struct TypeScriptTypes {
    let connector: ConnectorDescription

    /// The names of results, variables and keys of an operation or table.
    static func data(of operation: OperationDescription) -> String { Naming.upperFirst(operation.name) + "Data" }
    static func variables(of operation: OperationDescription) -> String {
        Naming.upperFirst(operation.name) + "Variables"
    }
    static func key(of typeName: String) -> String { "\(typeName)_Key" }

    /// The name of an operation's function; a reserved word gets a `_`.
    static func function(of operation: OperationDescription) -> String {
        let name = Naming.lowerFirst(operation.name)
        return reserved.contains(name) ? name + "_" : name
    }

    private static let reserved: Set<String> = [
        "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do", "else",
        "enum", "eval", "export", "extends", "false", "finally", "for", "function", "if", "implements", "import", "in",
        "instanceof", "interface", "let", "new", "null", "package", "private", "protected", "public", "return",
        "static", "super", "switch", "this", "throw", "true", "try", "typeof", "var", "void", "while", "with", "yield",
        "arguments", "connectorConfig", "dataConnectSettings",
    ]

    static let aliases = [
        "export type TimestampString = string;", "export type UUIDString = string;",
        "export type Int64String = string;", "export type DateString = string;",
    ]

    /// Enums, then interfaces sorted by name.
    func declare(in writer: inout CodeWriter) {
        for type in connector.enums {
            writer.block("export enum \(type.name) {") { writer in
                for value in type.values { writer.line("\(value) = \"\(value)\",") }
            }
            writer.line()
        }
        var interfaces: [(name: String, text: (inout CodeWriter) -> Void)] = []
        for key in connector.keys {
            let name = Self.key(of: key.typeName)
            interfaces.append(
                (
                    name,
                    { writer in
                        for field in key.fields { writer.line("\(field.name): \(Self.text(field.type));") }
                        writer.line("__typename?: '\(name)';")
                    }
                ))
        }
        for operation in connector.operations {
            interfaces.append((Self.data(of: operation), { Self.fields(of: operation.result, in: &$0) }))
            guard !operation.variables.isEmpty else { continue }
            interfaces.append(
                (
                    Self.variables(of: operation),
                    { writer in
                        for variable in operation.variables {
                            writer.documentation(variable.documentation.map { "/** \($0) */" }, prefix: "")
                            writer.line(Self.member(variable))
                        }
                    }
                ))
        }
        for input in connector.inputs {
            interfaces.append(
                (
                    input.name,
                    { writer in
                        for field in input.fields {
                            writer.line(
                                field.isRequired
                                    ? "\(field.name): \(Self.text(field.type));"
                                    : "\(field.name)?: \(Self.text(field.type)) | null;")
                        }
                    }
                ))
        }
        for interface in interfaces.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }) {
            writer.block("export interface \(interface.name) {", "}", interface.text)
            writer.line()
        }
    }

    private static func member(_ variable: VariableDescription) -> String {
        let type = text(variable.type)
        if variable.isRequired { return "\(variable.name): \(type);" }
        return "\(variable.name)?: \(type)\(variable.isNullable ? " | null" : "");"
    }

    /// The fields of a result. One that may be null may also be absent from the type; an object that may be null is
    /// declared without null, as apps expect it of generated code.
    private static func fields(of shape: ObjectShape, in writer: inout CodeWriter) {
        for field in shape.fields {
            let mark = field.isNullable || field.mayBeAbsent ? "?" : ""
            guard let inner = field.type.shape else {
                writer.line("\(field.name)\(mark): \(text(field.type))\(field.isNullable ? " | null" : "");")
                continue
            }
            let key = inner.hasKey ? " & \(Self.key(of: inner.typeName))" : ""
            var opening = "{"
            var closing = "}\(key)"
            var type = field.type
            while case .list(let element, let hasNullableElements) = type {
                opening = "(" + opening
                closing += "\(hasNullableElements ? " | null" : ""))[]"
                type = element
            }
            if case .list = field.type, field.isNullable { closing += " | null" }
            writer.block("\(field.name)\(mark): \(opening)", "\(closing);") { fields(of: inner, in: &$0) }
        }
    }

    /// A type that is not an object of a result.
    static func text(_ type: ValueType) -> String {
        switch type {
        case .scalar(let scalar):
            switch scalar {
            case .string, .id: "string"
            case .int, .float: "number"
            case .int64: "Int64String"
            case .boolean: "boolean"
            case .uuid: "UUIDString"
            case .date: "DateString"
            case .timestamp: "TimestampString"
            case .any: "unknown"
            case .vector: "number[]"
            }
        case .enumeration(let name), .input(let name): name
        case .key(let typeName): key(of: typeName)
        case .object: "object"
        case .list(let element, let hasNullableElements):
            hasNullableElements ? "(\(text(element)) | null)[]" : "\(text(element))[]"
        }
    }
}

extension CodeWriter {
    /// `import { a, b } from 'c';`, with one name a line if it is long.
    func braces(_ start: String, _ names: [String], _ end: String) -> String {
        let single = "\(start) { \(names.joined(separator: ", ")) } \(end)"
        return single.count <= Self.columnsMax
            ? single : wrapping("\(start) {", names, "} \(end)", mayTrail: true)
    }
}

extension ConnectorDescription {
    var hasQueries: Bool { operations.contains { $0.kind == .query } }
    var hasMutations: Bool { operations.contains { $0.kind == .mutation } }
}

/// A module system of JavaScript: how a file imports and exports.
enum ModuleFormat: CaseIterable {
    case commonJS, ecmaScript

    func importing(_ names: [String], from module: String) -> String {
        let writer = CodeWriter(indentation: 2)
        return switch self {
        case .commonJS: writer.braces("const", names, "= require('\(module)');")
        case .ecmaScript: writer.braces("import", names, "from '\(module)';")
        }
    }

    /// The beginning of an exported constant's declaration.
    func constant(_ name: String) -> String {
        self == .commonJS ? "const \(name) =" : "export const \(name) ="
    }

    /// The beginning of an exported function's declaration.
    func function(_ name: String, _ parameters: String) -> String {
        self == .commonJS ? "function \(name)(\(parameters)) {" : "export function \(name)(\(parameters)) {"
    }

    /// Exports what was declared; nothing where the declaration says so.
    func export(_ name: String, in writer: inout CodeWriter) {
        if self == .commonJS { writer.line("exports.\(name) = \(name);") }
    }
}
