import CEL
package import JSON
package import LiveModel

/// A `@check`: a condition on the value of a field. Source: docs/reference/sql-connect.md §5.1.
package struct FieldCheck: Sendable {
    let program: ExpressionProgram
    let message: String
    /// Whether the check also holds if the field is absent from the result.
    let isOptional: Bool
    let inclusion: Inclusion

    static let expressionDefault = "!(this in [null, []])"
    static let messageDefault = "permission denied"
}

/// The `@check` and `@redact` directives of a field.
package struct FieldPolicy: Sendable {
    package var checks: [FieldCheck] = []
    var isRedacted = false

    package init(checks: [FieldCheck] = [], isRedacted: Bool = false) {
        self.checks = checks
        self.isRedacted = isRedacted
    }
}

/// The checks and redactions of a field and of the fields below it. Fields without any are omitted.
package struct ResponsePolicy: Sendable {
    package let responseKey: String
    let inclusion: Inclusion
    package let checks: [FieldCheck]
    package let isRedacted: Bool
    package let children: [ResponsePolicy]

    /// Returns nil if there is nothing to check or redact.
    init?(
        _ responseKey: String, _ inclusion: Inclusion, _ policy: FieldPolicy, children: [ResponsePolicy]
    ) {
        guard !policy.checks.isEmpty || policy.isRedacted || !children.isEmpty else { return nil }
        self.responseKey = responseKey
        self.inclusion = inclusion
        self.checks = policy.checks
        self.isRedacted = policy.isRedacted
        self.children = children
    }

    /// Creates the policy of an operation's whole result.
    package init?(root policy: FieldPolicy, children: [ResponsePolicy]) {
        self.init("", .always, policy, children: children)
    }

    package var readsRequestTime: Bool {
        checks.contains(where: \.program.readsRequestTime) || children.contains(where: \.readsRequestTime)
    }
    var hasChecks: Bool { !checks.isEmpty || children.contains(where: \.hasChecks) }
    var hasRedactions: Bool { isRedacted || children.contains(where: \.hasRedactions) }

    // MARK: Checking

    /// Returns the first failed check as an error with the path of the field; nil if all hold. A check whose expression
    /// throws does not hold.
    /// - Parameter values: all values of this field in the result; more than one below a list.
    package func failure(in values: [JSONValue], path: [String], _ invocation: Invocation) -> RequestError? {
        for check in checks where invocation.variables.satisfies(check.inclusion) {
            let holds =
                values.isEmpty ? check.isOptional : values.allSatisfy { check.program.holds(of: $0, in: invocation) }
            if !holds { return RequestError(.permissionDenied, check.message, path: path.map { .key($0) }) }
        }
        for child in children where invocation.variables.satisfies(child.inclusion) {
            var below: [JSONValue] = []
            for value in values { Self.collect(child.responseKey, in: value, into: &below) }
            if let failure = child.failure(in: below, path: path + [child.responseKey], invocation) { return failure }
        }
        return nil
    }

    private static func collect(_ key: String, in value: JSONValue, into found: inout [JSONValue]) {
        switch value {
        case .object(let object): if let value = object[key] { found.append(value) }
        case .array(let elements): for element in elements { collect(key, in: element, into: &found) }
        case .null, .bool, .int, .double, .string: break
        }
    }
}

extension ExpressionProgram {
    fileprivate func holds(of value: JSONValue, in invocation: Invocation) -> Bool {
        if case .bool(true)? = try? evaluate(invocation, this: value) { return true }
        return false
    }
}

// MARK: - The tree of an operation

extension [RootField] {
    /// The fields without redacted ones that no check reads, neither their own nor that of an enclosing field, since a
    /// query has no other use for them.
    var withoutUnreadRedactions: [RootField] {
        compactMap { field in
            let kind: RootField.Kind =
                switch field.kind {
                case _ where !field.policy.checks.isEmpty: field.kind
                case .lookup(let lookup):
                    .lookup(
                        Lookup(
                            table: lookup.table, target: lookup.target, object: lookup.object.withoutUnreadRedactions))
                case .list(let list): .list(list.withoutUnreadRedactions)
                case .native, .remote, .typeName: field.kind
                }
            let kept = RootField(
                responseKey: field.responseKey, inclusion: field.inclusion, kind: kind, policy: field.policy)
            let hasChecks = ResponsePolicy.children(of: [kept]).contains(where: \.hasChecks)
            return field.policy.isRedacted && !hasChecks ? nil : kept
        }
    }
}

extension ObjectSelection {
    fileprivate var withoutUnreadRedactions: ObjectSelection {
        let kept = fields.compactMap { field -> ObjectField? in
            let kind: ObjectField.Kind =
                switch field.kind {
                case _ where !field.policy.checks.isEmpty: field.kind
                case .reference(let reference, let object): .reference(reference, object.withoutUnreadRedactions)
                case .single(let relation, let object): .single(relation, object.withoutUnreadRedactions)
                case .list(let list): .list(list.withoutUnreadRedactions)
                case .column, .typeName, .globalID, .metadata: field.kind
                }
            let kept = ObjectField(
                responseKey: field.responseKey, inclusion: field.inclusion, kind: kind, policy: field.policy)
            let checks = ResponsePolicy.children(of: ObjectSelection(table: table, fields: [kept]))
            return field.policy.isRedacted && !checks.contains(where: \.hasChecks) ? nil : kept
        }
        return ObjectSelection(table: table, fields: kept)
    }
}

extension RowList {
    /// The list without unread redacted fields. Groups and distinct rows are unchanged, since redacted fields affect
    /// them.
    fileprivate var withoutUnreadRedactions: RowList {
        guard case .rows(let object) = content, case .constant(false) = arguments.isDistinct else { return self }
        return RowList(source: source, arguments: arguments, content: .rows(object.withoutUnreadRedactions))
    }
}

extension ResponsePolicy {
    static func children(of fields: [RootField]) -> [ResponsePolicy] {
        fields.compactMap { field in
            let below: [ResponsePolicy] =
                switch field.kind {
                case .lookup(let lookup): children(of: lookup.object)
                case .list(let list): children(of: list)
                case .remote(let remote): remote.policies
                case .native, .typeName: []
                }
            return ResponsePolicy(field.responseKey, field.inclusion, field.policy, children: below)
        }
    }

    static func children(of object: ObjectSelection) -> [ResponsePolicy] {
        object.fields.compactMap {
            ResponsePolicy($0.responseKey, $0.inclusion, $0.policy, children: children(of: $0.kind))
        }
    }

    private static func children(of kind: ObjectField.Kind) -> [ResponsePolicy] {
        switch kind {
        case .reference(_, let object), .single(_, let object): children(of: object)
        case .list(let list): children(of: list)
        case .column, .typeName, .globalID, .metadata: []
        }
    }

    private static func children(of list: RowList) -> [ResponsePolicy] {
        switch list.content {
        case .rows(let object): children(of: object)
        case .groups(let fields):
            fields.compactMap { field in
                var below: [ResponsePolicy] = []
                if case .plain(let kind) = field.kind { below = children(of: kind) }
                return ResponsePolicy(field.responseKey, field.inclusion, field.policy, children: below)
            }
        }
    }
}
