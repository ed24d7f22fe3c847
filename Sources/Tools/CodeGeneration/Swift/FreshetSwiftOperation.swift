/// Prints one operation for `FreshetClient`: a method of the connector and an enum with `Variables` and `Data`.
struct FreshetSwiftOperation {
    struct Member {
        var name: String
        /// The type, with `?` if the value may be null or absent.
        var type: String
    }

    let operation: OperationDescription
    /// The name of the connector's struct.
    let connector: String

    static func name(of operation: OperationDescription) -> String { Naming.pascal(operation.name) }
    static func function(of operation: OperationDescription) -> String {
        SwiftText.name(Naming.camel(operation.name))
    }

    private var name: String { Self.name(of: operation) }

    func declare(in writer: inout CodeWriter) {
        let kind = operation.kind == .query ? "Query" : "Mutation"
        writer.block("extension \(connector) {") { writer in
            let documentation =
                operation.documentation ?? "The \(operation.kind.rawValue) `\(operation.name)`."
            writer.documentation(documentation, prefix: "/// ")
            writer.line("///")
            writer.line("/// Access: \(operation.accessLevel ?? "an expression").\(refreshNote)")
            writer.block(
                writer.wrapping(
                    "public func \(Self.function(of: operation))(", variables.map(\.parameter),
                    ") -> \(kind)<\(name)> {")
            ) { writer in
                declareCall(kind, in: &writer)
            }
        }
        writer.line()
        writer.documentation(operation.documentation, prefix: "/// ")
        writer.block("public enum \(name): \(kind)Operation {") { writer in
            writer.line("public static let name = \(SwiftText.literal(operation.name))")
            writer.line("public static let revision = \(SwiftText.literal(operation.revision))")
            if operation.kind == .query {
                let start = "public static let entities: EntityShape = "
                let entities = Self.entities(operation.result, after: start, depth: 0)
                writer.line(start + (entities ?? ".none"))
            }
            writer.line()
            declareVariables(in: &writer)
            writer.line()
            Self.declare(operation.result, as: "Data", in: &writer)
        }
    }

    private func declareCall(_ kind: String, in writer: inout CodeWriter) {
        let arguments = variables.map { "\($0.member.name): \(SwiftText.name($0.member.name))" }
        guard !arguments.isEmpty else { return writer.line("\(kind)(self.link, NoVariables())") }
        let single = "\(kind)(self.link, \(name).Variables(\(arguments.joined(separator: ", "))))"
        if writer.fits(single) { return writer.line(single) }
        writer.line(writer.wrapping("let sentVariables = \(name).Variables(", arguments, ")"))
        writer.line("return \(kind)(self.link, sentVariables)")
    }

    private var refreshNote: String {
        switch operation.kind {
        case .query where operation.isRefreshed: " Followers receive new results."
        case .query: " Nothing refreshes it."
        case .mutation: ""
        }
    }

    // MARK: Variables

    var variables: [(member: Member, parameter: String)] {
        operation.variables.map { variable in
            let type = SwiftText.type(variable.type)
            let name = SwiftText.name(variable.name)
            return variable.isRequired
                ? (Member(name: variable.name, type: type), "\(name): \(type)")
                : (Member(name: variable.name, type: "Sent<\(type)>"), "\(name): Sent<\(type)> = .absent")
        }
    }

    private func declareVariables(in writer: inout CodeWriter) {
        let variables = variables
        guard !variables.isEmpty else {
            writer.line("public typealias Variables = NoVariables")
            return
        }
        writer.block("public struct Variables: OperationVariables {") { writer in
            for (variable, description) in zip(variables, operation.variables) {
                writer.documentation(description.documentation, prefix: "/// ")
                writer.line("public var \(SwiftText.name(variable.member.name)): \(variable.member.type)")
            }
            writer.line()
            writer.block(writer.wrapping("public init(", variables.map(\.parameter), ") {")) { writer in
                for variable in variables {
                    writer.line("self.\(variable.member.name) = \(SwiftText.name(variable.member.name))")
                }
            }
            writer.line()
            writer.block("public func encode(to variables: inout VariableWriter) {") { writer in
                for variable in variables {
                    let name = variable.member.name
                    writer.line("variables.set(\(SwiftText.literal(name)), self.\(name))")
                }
            }
        }
    }

    // MARK: Data

    private static func declare(_ shape: ObjectShape, as name: String, in writer: inout CodeWriter) {
        var taken: Set<String> = [name]
        var inner: [(name: String, shape: ObjectShape)] = []
        let members = shape.fields.map { field in
            var type = SwiftText.type(field.type)
            if let shape = field.type.shape {
                let name = SwiftText.structName(of: field, shape, &taken)
                inner.append((name, shape))
                type = SwiftText.type(field.type, object: name)
            }
            return Member(name: field.name, type: type + (field.isNullable || field.mayBeAbsent ? "?" : ""))
        }
        let names = Set(shape.fields.map(\.name))
        // A field named like a requirement of `EntityData` leaves the object without a key.
        let hasKey = shape.hasKey && !names.contains("key")
        let isIdentifiedByField = shape.keyFields == ["id"]
        let isIdentifiable = hasKey && (isIdentifiedByField || !names.contains("id"))
        let conformances = hasKey ? "EntityData\(isIdentifiable ? ", Identifiable" : "")" : "OperationData"
        writer.block("public struct \(name): \(conformances) {") { writer in
            for member in members { writer.line("public var \(SwiftText.name(member.name)): \(member.type)") }
            if hasKey {
                let arguments = shape.keyFields.map { "\($0): \(SwiftText.name($0))" }.joined(separator: ", ")
                let key = SwiftText.key(of: shape.typeName)
                writer.line()
                writer.line("public var key: \(key) { \(key)(\(arguments)) }")
                if isIdentifiable, !isIdentifiedByField { writer.line("public var id: \(key) { key }") }
            }
            writer.line()
            memberwise(members, in: &writer)
            writer.line()
            reading(members, in: &writer)
            for (name, shape) in inner {
                writer.line()
                declare(shape, as: name, in: &writer)
            }
        }
    }

    static func memberwise(_ members: [Member], in writer: inout CodeWriter) {
        let parameters = members.map { "\(SwiftText.name($0.name)): \($0.type)" }
        writer.block(writer.wrapping("public init(", parameters, ") {")) { writer in
            for member in members { writer.line("self.\(member.name) = \(SwiftText.name(member.name))") }
        }
    }

    static func reading(_ members: [Member], in writer: inout CodeWriter) {
        writer.block("public init(from object: ObjectReader) throws(ResultError) {") { writer in
            for member in members {
                writer.line("self.\(member.name) = try object.value(\(SwiftText.literal(member.name)))")
            }
        }
    }

    // MARK: Entities

    /// The positions of rows that a normalised cache stores by key, on one line if that is short enough; nil without
    /// any.
    /// - Parameters:
    ///   - start: the text before it on its line, without indentation.
    ///   - depth: the indentation of the line.
    private static func entities(_ shape: ObjectShape, after start: String, depth: Int) -> String? {
        guard let single = entitiesOnOneLine(shape) else { return nil }
        // Inside the enum of the operation, and a comma may follow.
        if 4 * (depth + 1) + start.count + single.count < CodeWriter.columnsMax { return single }
        let isRow = !shape.entityKey.isEmpty
        let inner = depth + (isRow ? 2 : 1)
        let members = shape.fields.compactMap { field -> String? in
            guard let shape = field.type.shape else { return nil }
            let name = "\(SwiftText.literal(field.name)): "
            return entities(shape, after: name, depth: inner).map { name + $0 }
        }
        let blank = String(repeating: "    ", count: inner)
        let list =
            "[\n\(blank)\(members.joined(separator: ",\n\(blank)"))\(members.count > 1 ? "," : "")"
            + "\n\(blank.dropLast(4))]"
        guard isRow else { return ".object(\(list))" }
        if members.isEmpty { return single }
        return ".entity(\n\(blank.dropLast(4))\(rowArguments(shape)),\n\(blank.dropLast(4))\(list))"
    }

    private static func entitiesOnOneLine(_ shape: ObjectShape) -> String? {
        let members = shape.fields.compactMap { field -> String? in
            guard let inner = field.type.shape, let text = entitiesOnOneLine(inner) else { return nil }
            return "\(SwiftText.literal(field.name)): \(text)"
        }
        let list = members.isEmpty ? nil : "[\(members.joined(separator: ", "))]"
        guard !shape.entityKey.isEmpty else { return list.map { ".object(\($0))" } }
        return ".entity(\(rowArguments(shape))\(list.map { ", \($0)" } ?? ""))"
    }

    private static func rowArguments(_ shape: ObjectShape) -> String {
        let key = shape.entityKey.map { SwiftText.literal($0.joined(separator: ".")) }.joined(separator: ", ")
        return "\(SwiftText.literal(shape.typeName)), key: [\(key)]"
    }
}
