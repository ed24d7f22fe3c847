package import LiveModel

/// The catalogs that a node serves at one time: the current one, which new requests and sessions get; announced ones,
/// which become current when every node has loaded them; former ones, whose sessions have not reconnected yet.
///
/// Events are published for all of them together: a mutation of one version can refresh a query of another.
package struct CatalogSet: Sendable {
    package struct Member: Sendable {
        /// The project's version.
        package let version: Digest
        package let catalog: Catalog
        /// Whether clients may begin with it: false for what is only announced, or about to go.
        package let takesRequests: Bool

        package init(version: Digest, catalog: Catalog, takesRequests: Bool = true) {
            self.version = version
            self.catalog = catalog
            self.takesRequests = takesRequests
        }
    }

    package let current: Member
    package let others: [Member]

    /// Nil while there is one catalog, which has its own.
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

    /// The versions that were current before, youngest first, and whose clients may still come.
    package var formers: [Member] { others.filter(\.takesRequests) }

    /// Whether no request can notice a difference.
    package func isServed(as other: CatalogSet) -> Bool {
        members.map(\.version) == other.members.map(\.version)
            && formers.map(\.version) == other.formers.map(\.version)
    }

    /// The operation in exactly this version, from whichever catalog has it.
    package func operation(_ reference: OperationReference, version: Digest) -> StoredOperation? {
        if let operation = current.catalog.operation(reference), operation.version == version { return operation }
        for member in others {
            if let operation = member.catalog.operation(reference), operation.version == version { return operation }
        }
        return nil
    }

    /// The operation of the current catalog, else of one that still, or already, has it.
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

    /// The claims of this mutation's auth that conditions of any version's queries read.
    package func authReadsOfConditions(on mutation: OperationReference) -> AuthReads {
        guard let conditionReads else { return current.catalog.authReadsOfConditions(on: mutation) }
        return conditionReads[mutation] ?? .nothing
    }
}
