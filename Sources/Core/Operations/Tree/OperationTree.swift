package import LiveModel

/// A resolved operation with every name bound to the schema, from which its SQL is rendered.
package struct OperationTree: Sendable {
    package enum Kind: String, Sendable, Hashable {
        case query, mutation
    }

    package enum Root: Sendable {
        case query([RootField])
        case mutation([MutationField])
    }

    package let reference: OperationReference
    /// The stored source: the operation, followed by the fragments it uses.
    package let text: String
    package let variables: [VariableSpec]
    /// Variables whose value determines the SQL text.
    package let dynamicVariables: [DynamicVariable]
    package let auth: AuthRule
    /// The parts of the requester's auth that SQL values and, for a query, refresh conditions read.
    package let authReads: AuthReads
    /// `.none` for a mutation.
    package let refresh: RefreshRules
    /// `@transaction`
    package let isTransaction: Bool
    package let root: Root
    package let results: ResultForm
    package let readWriteSet: ReadWriteSet
    /// The embeddings that the operation needs, without duplicates.
    package let embeddings: [EmbeddingSource]
    /// Whether a mutation's fields must run one after the other, because a value reads an earlier result or a `@check`
    /// decides whether to continue.
    package let isStepwise: Bool

    package var kind: Kind {
        switch root {
        case .query: .query
        case .mutation: .mutation
        }
    }

    /// The fields of a query that custom resolvers provide.
    package var remoteFields: [(inclusion: Inclusion, field: RemoteField)] {
        guard case .query(let fields) = root else { return [] }
        return fields.compactMap { field in
            if case .remote(let remote) = field.kind { (field.inclusion, remote) } else { nil }
        }
    }

    /// Whether subscribers may ever receive a second result.
    var isRefreshed: Bool { kind == .query && !refresh.isEmpty }
}
