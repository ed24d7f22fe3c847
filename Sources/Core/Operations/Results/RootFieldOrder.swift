package import LiveModel

/// The order of a query's root fields, which determines what is returned if a `@check` fails.
///
/// Root fields are treated as running in order, like a mutation's: a check that fails in one of them aborts the rest.
/// The fields before it are returned; it and the following fields are null, each with an error. So a lookup that only
/// checks a permission guards everything after it.
///
/// Source: docs/reference/sql-connect.md §5.1, and for nulls of non-null fields GraphQL (September 2025) §6.4.4.
struct RootFieldOrder: Sendable {
    struct Field: Sendable {
        let responseKey: String
        let inclusion: Inclusion
        let isNullable: Bool
        /// Whether the field is never in the data.
        let isRedacted: Bool
        /// Whether the field contains a check and nothing of it is returned.
        let isGuard: Bool
    }

    /// All root fields except `__typename`, which reads no row.
    let fields: [Field]

    init(_ fields: [RootField]) {
        self.fields = fields.compactMap { field in
            let isNullable: Bool
            switch field.kind {
            case .lookup, .native: isNullable = true
            case .list: isNullable = false
            case .remote(let remote): isNullable = remote.isNullable
            case .typeName: return nil
            }
            return Field(
                responseKey: field.responseKey, inclusion: field.inclusion, isNullable: isNullable,
                isRedacted: field.policy.isRedacted,
                isGuard: (field.policy.isRedacted || field.kind.showsNothing)
                    && ResponsePolicy.children(of: [field]).contains(where: \.hasChecks))
        }
    }

    /// A field that exists only for its check, and one before it that is returned even if the check fails; nil if there
    /// is none.
    var lateGuard: (responseKey: String, unguarded: String)? {
        for (index, field) in fields.enumerated() where field.isGuard {
            guard let shown = fields[..<index].first(where: { !$0.isRedacted }), canBeWithheld(fields[index...]) else {
                continue
            }
            return (field.responseKey, shown.responseKey)
        }
        return nil
    }

    private func canBeWithheld(_ rest: ArraySlice<Field>) -> Bool { rest.allSatisfy { $0.isNullable || $0.isRedacted } }

    /// Returns the fields that a failed check withholds, each with its error.
    /// - Returns: nil if the whole result is withheld, because the check is that of the operation, nothing is returned
    ///   before it, or one of the fields must not be null.
    func withheld(by failure: RequestError, _ variables: Variables) -> [(responseKey: String, error: RequestError)]? {
        let included = fields.filter { variables.satisfies($0.inclusion) }
        guard case .key(let failed)? = failure.path.first,
            let first = included.firstIndex(where: { $0.responseKey == failed }),
            included[..<first].contains(where: { !$0.isRedacted }),
            canBeWithheld(included[first...])
        else { return nil }
        return [(failed, failure)]
            + included[(first + 1)...].map { field -> (responseKey: String, error: RequestError) in
                let path = [RequestError.PathElement.key(field.responseKey)]
                return (field.responseKey, RequestError(.permissionDenied, RequestError.abortedMessage, path: path))
            }
    }
}

extension RootField.Kind {
    /// Whether everything selected is redacted.
    fileprivate var showsNothing: Bool {
        switch self {
        case .lookup(let lookup): lookup.object.fields.allSatisfy(\.policy.isRedacted)
        case .list, .native, .remote, .typeName: false
        }
    }
}

extension RequestError {
    /// The message of a root field that did not run, or is not shown, because an earlier one failed.
    /// Source: docs/reference/sql-connect.md §5.1.
    package static let abortedMessage = "(aborted)"
}
