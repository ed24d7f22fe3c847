/// Prints one operation for `FirebaseDataConnect`: `class ListMoviesQuery` with `Variables`, `Data`, `ref` and
/// `execute`.
struct SwiftOperation {
    let operation: OperationDescription
    let publisher: SwiftOptions.Publisher

    static func name(of operation: OperationDescription) -> String {
        Naming.pascal(operation.name) + (operation.kind == .query ? "Query" : "Mutation")
    }

    private var name: String { Self.name(of: operation) }
    private var types: String { "\(name).Data, \(name).Variables" }

    private var reference: String {
        switch (operation.kind, publisher) {
        case (.mutation, _): "MutationRef<\(types)>"
        case (.query, .observableMacro): "QueryRefObservation<\(types)>"
        case (.query, .observableObject): "QueryRefObservableObject<\(types)>"
        }
    }

    func declare(in writer: inout CodeWriter) {
        writer.documentation(operation.documentation, prefix: "/// ")
        writer.block("public class \(name) {") { writer in
            writer.line("let dataConnect: DataConnect")
            writer.line()
            writer.block("init(dataConnect: DataConnect) {") { $0.line("self.dataConnect = dataConnect") }
            writer.line()
            writer.line("public static let OperationName = \(SwiftText.literal(operation.name))")
            writer.line()
            writer.line("public typealias Ref = \(reference)")
            writer.line()
            declareVariables(in: &writer)
            writer.line()
            Self.declare(operation.result, as: "Data", hasKey: false, in: &writer)
            writer.line()
            declareCalls(in: &writer)
        }
    }

    // MARK: Variables

    private var members: [SwiftCoding.Member] {
        operation.variables.map { variable in
            SwiftCoding.Member(
                name: variable.name, type: SwiftText.type(variable.type), valueType: variable.type,
                isOptional: !variable.isRequired)
        }
    }

    private func declareVariables(in writer: inout CodeWriter) {
        let members = members
        writer.block("public struct Variables: OperationVariable {") { writer in
            guard !members.isEmpty else {
                writer.line("public init() {}")
                return
            }
            for (variable, member) in zip(operation.variables, members) {
                writer.documentation(variable.documentation, prefix: "/// ")
                if member.isOptional { writer.line("@OptionalVariable") }
                writer.line("public var \(SwiftText.name(member.name)): \(member.type)\(member.isOptional ? "?" : "")")
            }
            writer.line()
            var parameters = required.map { "\(SwiftText.name($0.name)): \($0.type)" }
            if hasOptional { parameters.append("_ optionalVars: ((inout Variables) -> Void)? = nil") }
            writer.block(writer.wrapping("public init(", parameters, ") {")) { writer in
                for member in required { writer.line("self.\(member.name) = \(SwiftText.name(member.name))") }
                if hasOptional { writer.line("optionalVars?(&self)") }
            }
            writer.line()
            writer.block("public static func == (lhs: Variables, rhs: Variables) -> Bool {") { writer in
                let tests = members.flatMap { member in
                    let equal = "lhs.\(member.name) == rhs.\(member.name)"
                    return member.isOptional
                        ? ["lhs.$\(member.name).isSet == rhs.$\(member.name).isSet", equal] : [equal]
                }
                writer.line(tests.joined(separator: "\n  && "))
            }
            writer.line()
            writer.block("public func hash(into hasher: inout Hasher) {") { writer in
                for member in members { writer.line("hasher.combine(self.\(member.name))") }
            }
            SwiftCoding.codingKeys(members, in: &writer)
            SwiftCoding.encode(members, isSet: Set(members.filter(\.isOptional).map(\.name)), in: &writer)
        }
    }

    private var required: [SwiftCoding.Member] { members.filter { !$0.isOptional } }
    private var hasOptional: Bool { members.contains(where: \.isOptional) }

    // MARK: Data

    /// Declares the struct of an object, with those of the objects inside it.
    private static func declare(_ shape: ObjectShape, as name: String, hasKey: Bool, in writer: inout CodeWriter) {
        var taken: Set<String> = [name]
        var inner: [(name: String, shape: ObjectShape)] = []
        let members = shape.fields.map { field in
            var type = SwiftText.type(field.type)
            if let shape = field.type.shape {
                let name = SwiftText.structName(of: field, shape, &taken)
                inner.append((name, shape))
                type = SwiftText.type(field.type, object: name)
            }
            return SwiftCoding.Member(
                name: field.name, type: type, valueType: field.type, isOptional: field.isNullable || field.mayBeAbsent,
                mayBeAbsent: field.mayBeAbsent)
        }
        let hasID = shape.fields.contains { $0.name == "id" }
        let keyName = Naming.lowerFirst(name) + "Key"
        let isIdentifiable = hasKey && (!hasID || shape.keyFields.contains("id"))
        writer.block(
            "public struct \(name): Decodable, Hashable, Sendable\(isIdentifiable ? ", Identifiable" : "") {"
        ) { writer in
            for (name, shape) in inner {
                declare(shape, as: name, hasKey: shape.hasKey, in: &writer)
                writer.line()
            }
            for member in members {
                writer.line("public var \(SwiftText.name(member.name)): \(member.type)\(member.isOptional ? "?" : "")")
            }
            if hasKey, !shape.fields.contains(where: { $0.name == keyName }) {
                writer.line()
                let arguments = shape.keyFields.map { "\($0): \(SwiftText.name($0))" }.joined(separator: ", ")
                let key = SwiftText.key(of: shape.typeName)
                writer.line("public var \(keyName): \(key) { \(key)(\(arguments)) }")
                if isIdentifiable, !hasID { writer.line("public var id: \(key) { \(keyName) }") }
            }
            SwiftCoding.codingKeys(members, in: &writer)
            SwiftCoding.decode(members, in: &writer)
        }
    }

    // MARK: Calls

    private func declareCalls(in writer: inout CodeWriter) {
        let parameters = required.map { "\(SwiftText.name($0.name)): \($0.type)" }
        let optional = hasOptional ? ["_ optionalVars: ((inout \(name).Variables) -> Void)? = nil"] : []
        writer.block(writer.wrapping("public func ref(", parameters + optional, ") -> \(reference) {")) {
            makeReference(in: &$0)
        }
        writer.line()
        let policy = operation.kind == .query ? ["fetchPolicy: QueryFetchPolicy = .preferCache"] : []
        let isolated = hasOptional ? ["_ optionalVars: (@MainActor (inout \(name).Variables) -> Void)? = nil"] : []
        writer.line("@MainActor")
        writer.block(
            writer.wrapping(
                "public func execute(", parameters + policy + isolated,
                ") async throws -> OperationResult<\(name).Data> {")
        ) { writer in
            let names =
                required.map { "\($0.name): \(SwiftText.name($0.name))" } + (hasOptional ? ["optionalVars"] : [])
            let arguments = operation.kind == .query ? "fetchPolicy: fetchPolicy" : ""
            writer.line(writer.wrapping("try await self.ref(", names, ").execute(\(arguments))"))
        }
    }

    private func makeReference(in writer: inout CodeWriter) {
        var arguments = required.map { "\($0.name): \(SwiftText.name($0.name))" }
        if hasOptional { arguments.append("optionalVars") }
        writer.line(writer.wrapping("let sentVariables = \(name).Variables(", arguments, ")"))
        switch operation.kind {
        case .mutation:
            writer.line("return self.dataConnect.mutation(")
            writer.line(
                "  name: \(name).OperationName, variables: sentVariables, resultsDataType: \(name).Data.self)")
        case .query:
            writer.line("let queryRef = self.dataConnect.query(")
            writer.line(
                "  name: \(name).OperationName, variables: sentVariables, resultsDataType: \(name).Data.self,")
            writer.line("  publisher: .\(publisher.rawValue))")
            writer.block("guard let queryRef = queryRef as? \(reference) else {") { writer in
                writer.line("// All generated code of an app needs the same observablePublisher.")
                writer.line("preconditionFailure(\"\\(\(name).OperationName) is in use with another publisher\")")
            }
            writer.line("return queryRef")
        }
    }
}
