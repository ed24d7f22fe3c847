package import LiveModel

/// The catalogs that a node serves at one time: the current one, which new requests and sessions get; those announced,
/// which become current when every node has them; former ones, whose sessions have not come back yet.
///
/// Events are published for all of them together: a mutation of one version can refresh a query of another.
package struct CatalogSet: Sendable {
    package struct Member: Sendable {
        /// Of the project: `ProjectArchive.version`.
        package let version: Digest
        package let catalog: Catalog
        /// Clients may begin with it: not what is only announced, nor what is about to go.
        package let takesRequests: Bool

        package init(version: Digest, catalog: Catalog, takesRequests: Bool = true) {
            self.version = version
            self.catalog = catalog
            self.takesRequests = takesRequests
        }
    }

    package let current: Member
    package let others: [Member]

    /// Nil while there is one catalog, which knows by itself.
    private let refreshed: [OperationReference: [OperationReference]]?
    private let conditionReads: [OperationReference: AuthReads]?

    package init(current: Member, others: [Member] = []) {
        self.current = current
        self.others = others
        let operations = ([current] + others).flatMap { $0.catalog.connectors.values.flatMap(\.operations.values) }
        refreshed = others.isEmpty ? nil : Catalog.refreshed(operations)
        conditionReads = others.isEmpty ? nil : Catalog.conditionReads(operations)
    }

    package var members: [Member] { [current] + others }

    /// Those that were current before, youngest first, and whose clients may still come.
    package var formers: [Member] { others.filter(\.takesRequests) }

    /// No request can tell the difference.
    package func isServed(as other: CatalogSet) -> Bool {
        members.map(\.version) == other.members.map(\.version)
            && formers.map(\.version) == other.formers.map(\.version)
    }

    /// The operation in exactly this version, whichever catalogs have it; nil for none.
    package func operation(_ reference: OperationReference, version: Digest) -> StoredOperation? {
        if let operation = current.catalog.operation(reference), operation.version == version { return operation }
        for member in others {
            if let operation = member.catalog.operation(reference), operation.version == version { return operation }
        }
        return nil
    }

    /// The operation of the current catalog, else of one that still or already has it.
    package func operation(_ reference: OperationReference) -> StoredOperation? {
        for member in members {
            if let operation = member.catalog.operation(reference) { return operation }
        }
        return nil
    }

    /// The queries, of any version, that a mutation of any version can refresh, sorted.
    package func queriesRefreshed(by mutation: OperationReference) -> [OperationReference] {
        guard let refreshed else { return current.catalog.queriesRefreshed(by: mutation) }
        return refreshed[mutation] ?? []
    }

    /// What the conditions of all queries of all versions read of this mutation's auth.
    package func authReadsOfConditions(on mutation: OperationReference) -> AuthReads {
        guard let conditionReads else { return current.catalog.authReadsOfConditions(on: mutation) }
        return conditionReads[mutation] ?? .nothing
    }
}
