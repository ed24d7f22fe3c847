import GraphQLLanguage
import JSON
package import SchemaModel

/// A root field that a custom resolver provides, as a request to it.
package struct RemoteField: Sendable {
    package let endpoint: ResolverEndpoint
    package let responseKey: String
    /// The GraphQL text that is sent, the same for every request.
    package let text: String
    /// The variables of `text`, in order.
    let arguments: [(name: String, value: RemoteValue)]
    let isNullable: Bool
    /// The policies of the fields below.
    let policies: [ResponsePolicy]
}

/// The value of an argument, with variables to be filled in.
indirect enum RemoteValue: Sendable {
    case constant(JSONValue)
    case variable(String)
    case list([RemoteValue])
    case object([(String, RemoteValue)])
    /// The result of evaluating a field's inclusion.
    case inclusion(Inclusion)

    /// Returns the value; nil if it was not sent, in which case the field or argument is omitted.
    func value(in variables: Variables) -> JSONValue? {
        switch self {
        case .constant(let value): return value
        case .variable(let name): return variables.value(name, path: []).map { $0 }
        case .list(let elements): return .array(elements.map { $0.value(in: variables) ?? .null })
        case .object(let members):
            var object = JSONObject()
            for (name, member) in members { object[name] = member.value(in: variables) }
            return .object(object)
        case .inclusion(let inclusion): return .bool(variables.satisfies(inclusion))
        }
    }
}

/// A selection below a custom resolver's field, with fragments expanded.
struct RemoteSelection {
    let responseKey: String
    let name: String
    let arguments: [(name: String, type: TypeReference, value: RemoteValue)]
    let inclusion: Inclusion
    let policy: FieldPolicy
    let children: [RemoteSelection]

    var policyNode: ResponsePolicy? {
        ResponsePolicy(responseKey, inclusion, policy, children: children.compactMap(\.policyNode))
    }
}

/// Builds the text of a request and collects its variables.
struct RemoteText {
    private(set) var arguments: [(name: String, type: TypeReference, value: RemoteValue)] = []

    /// Builds the request, such as `query($a0: ID!) { profile(id: $a0) { name } }`. Response keys are those of the
    /// operation, so that error paths are valid on both sides.
    static func field(
        _ selection: RemoteSelection, _ kind: OperationKind, _ endpoint: ResolverEndpoint, isNullable: Bool
    ) -> RemoteField {
        var text = RemoteText()
        let body = text.text(of: selection, isRoot: true)
        let declared = text.arguments.map { "$\($0.name): \($0.type)" }.joined(separator: ", ")
        return RemoteField(
            endpoint: endpoint, responseKey: selection.responseKey,
            text: "\(kind.rawValue)\(declared.isEmpty ? "" : "(\(declared))") { \(body) }",
            arguments: text.arguments.map { ($0.name, $0.value) }, isNullable: isNullable,
            policies: selection.children.compactMap(\.policyNode))
    }

    private mutating func variable(_ type: TypeReference, _ value: RemoteValue) -> String {
        let name = "a\(arguments.count)"
        arguments.append((name, type, value))
        return "$\(name)"
    }

    /// `Boolean!`
    private static let flagType = TypeReference(.nonNull(TypeReference(.named("Boolean"))))

    private mutating func text(of selection: RemoteSelection, isRoot: Bool) -> String {
        var text =
            selection.responseKey == selection.name
            ? selection.name : "\(selection.responseKey): \(selection.name)"
        if !selection.arguments.isEmpty {
            let items = selection.arguments.map { "\($0.name): \(variable($0.type, $0.value))" }
            text += "(\(items.joined(separator: ", ")))"
        }
        if !isRoot, !selection.inclusion.isAlways {
            text += " @include(if: \(variable(Self.flagType, .inclusion(selection.inclusion))))"
        }
        if !selection.children.isEmpty {
            text += " { \(selection.children.map { self.text(of: $0, isRoot: false) }.joined(separator: " ")) }"
        }
        return text
    }
}
