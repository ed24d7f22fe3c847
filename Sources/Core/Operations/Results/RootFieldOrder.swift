import LiveModel

/// The root fields of a query in order, for what of a result may be shown when a `@check` does not hold.
///
/// Root fields count as run one after the other, as a mutation's do: a check that fails on or below one of them ends the
/// rest. What stands before it is shown; it and what follows are null, each with an error. So a lookup that only checks a
/// permission guards all that is asked for after it.
/// Source: docs/reference/sql-connect.md §5.1; for nulls of fields that may not be null GraphQL (September 2025)
/// §6.4.4.
struct RootFieldOrder: Sendable {
    struct Field: Sendable {
        let responseKey: String
        let inclusion: Inclusion
        let isNullable: Bool
        /// Never in the data.
        let isRedacted: Bool
        /// A check stands on or below it, and nothing of it is shown.
        let isGuard: Bool
    }

    /// Without `__typename`, which says nothing of any row.
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

    /// A field that is there for its check alone, and one before it that is shown even when the check fails; nil when there
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

    /// The fields that a failed check withholds, each with its error.
    /// - Returns: nil when the whole result is withheld: the check is that of the operation, nothing is shown before it,
    ///   or one of the fields may not be null.
    func withheld(by failure: RequestError, _ variables: Variables) -> [(responseKey: String, error: RequestError)]? {
        let asked = fields.filter { variables.satisfies($0.inclusion) }
        guard case .key(let failed)? = failure.path.first,
            let first = asked.firstIndex(where: { $0.responseKey == failed }),
            asked[..<first].contains(where: { !$0.isRedacted }),
            canBeWithheld(asked[first...])
        else { return nil }
        return [(failed, failure)]
            + asked[(first + 1)...].map { field in
                (field.responseKey, RequestError(.permissionDenied, "(aborted)", path: [.key(field.responseKey)]))
            }
    }
}

extension RootField.Kind {
    /// All that is selected of it is redacted.
    fileprivate var showsNothing: Bool {
        switch self {
        case .lookup(let lookup): lookup.object.fields.allSatisfy(\.policy.isRedacted)
        case .list, .native, .remote, .typeName: false
        }
    }
}
