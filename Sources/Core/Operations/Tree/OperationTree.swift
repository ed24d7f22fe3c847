package import LiveModel

/// One operation with every name bound to the schema: what resolving its text gives, and what its SQL is rendered from.
package struct OperationTree: Sendable {
    package enum Kind: String, Sendable, Hashable {
        case query, mutation
    }

    package enum Root: Sendable {
        case query([RootField])
        case mutation([MutationField])
    }

    package let reference: OperationReference
    /// The source as stored: the operation, then the fragments it uses.
    package let text: String
    package let variables: [VariableSpec]
    /// Variables whose value decides the text of the SQL.
    package let dynamicVariables: [DynamicVariable]
    package let auth: AuthRule
    /// What the values in the SQL and, for a query, its refresh conditions read of the requester's auth.
    package let authReads: AuthReads
    /// `.none` for a mutation.
    package let refresh: RefreshRules
    /// `@transaction`
    package let isTransaction: Bool
    package let root: Root
    package let results: ResultForm
    package let readWriteSet: ReadWriteSet
    /// Where vectors are asked for, each once.
    package let embeddings: [EmbeddingSource]
    /// Whether the fields of a mutation must run one after the other, because a value reads what an earlier one gave or
    /// a `@check` decides whether the next one runs.
    package let isStepwise: Bool

    package var kind: Kind {
        switch root {
        case .query: .query
        case .mutation: .mutation
        }
    }

    /// Fields of a query that custom resolvers answer.
    package var remoteFields: [(inclusion: Inclusion, field: RemoteField)] {
        guard case .query(let fields) = root else { return [] }
        return fields.compactMap { field in
            if case .remote(let remote) = field.kind { (field.inclusion, remote) } else { nil }
        }
    }

    /// Whether followers of the query may ever get a second result.
    var isRefreshed: Bool { kind == .query && !refresh.isEmpty }
}
