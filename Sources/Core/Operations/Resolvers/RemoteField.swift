import GraphQLLanguage
import JSON
package import SchemaModel

/// One root field that a custom resolver answers, as a request to it.
package struct RemoteField: Sendable {
    package let endpoint: ResolverEndpoint
    package let responseKey: String
    /// The GraphQL text that is sent, the same for every request.
    package let text: String
    /// The variables of `text`, in order.
    let arguments: [(name: String, value: RemoteValue)]
    let isNullable: Bool
    /// Of fields below.
    let policies: [ResponsePolicy]
}

/// A value of an argument, to be filled in.
indirect enum RemoteValue: Sendable {
    case constant(JSONValue)
    case variable(String)
    case list([RemoteValue])
    case object([(String, RemoteValue)])
    /// Whether a field takes part.
    case inclusion(Inclusion)

    /// Nil for what was not sent: the field or argument is left out then.
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

/// A selection below a field of a custom resolver, fragments put in place.
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

/// Writes the text of a request and gathers its variables.
struct RemoteText {
    private(set) var arguments: [(name: String, type: TypeReference, value: RemoteValue)] = []

    /// `query($a0: ID!) { profile(id: $a0) { name } }`. Response keys are those of the operation, so that paths of errors
    /// mean the same on both sides.
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
