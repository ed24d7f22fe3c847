package import LiveModel
import Operations
import SchemaModel

/// The catalogs that a node serves at one time: the current one, which new requests and sessions get; announced ones,
/// which become current once every node has loaded them; and former ones, whose sessions have not reconnected yet.
///
/// Events are published for all of them together: a mutation of one version can refresh a query of another.
package struct CatalogSet: Sendable {
    package struct Member: Sendable {
        /// The project's version.
        package let version: Digest
        package let catalog: Catalog
        /// Whether new clients may use it: false for a version that is only announced or about to be removed.
        package let takesRequests: Bool

        package init(version: Digest, catalog: Catalog, takesRequests: Bool = true) {
            self.version = version
            self.catalog = catalog
            self.takesRequests = takesRequests
        }
    }

    package let current: Member
    package let others: [Member]

    /// Nil if there is only one catalog, which has its own table.
    private let refreshed: [OperationReference: [OperationReference]]?
    private let conditionReads: [OperationReference: AuthReads]?

    package init(current: Member, others: [Member] = []) {
        self.current = current
        self.others = others
        let operations = ([current] + others).flatMap { $0.catalog.connectors.values.flatMap(\.operations.values) }
        recordedFields = others.isEmpty ? current.catalog.recordedFields : Catalog.recordedFields(operations)
        captured =
            others.isEmpty
            ? current.catalog.captured
            : CapturedReads(
                ([current] + others).map {
                    ($0.catalog.schema, $0.catalog.connectors.values.flatMap(\.operations.values))
                })
        refreshed = others.isEmpty ? nil : Catalog.refreshed(operations)
        conditionReads = others.isEmpty ? nil : Catalog.conditionReads(operations)
    }

    /// The names of the fields and variables that comments of any version hide from operators.
    package var redactedNames: Set<String> {
        ([current] + others).reduce(into: Set()) { $0.formUnion($1.catalog.redactedNames) }
    }

    /// The fields, by table, whose values events tell for queries of any version; nil if no query needs them.
    package let recordedFields: [String: RecordedFields]?

    /// The queries of any version that refresh by the write-ahead log; nil if there are none.
    package let captured: CapturedReads?

    /// The queries of any version that refresh by themselves according to what a database says of SQL texts, with the
    /// digests of the definitions that this follows from: of their own texts and, where events of mutations refresh
    /// them, of what native SQL of any mutation writes.
    package var sqlDefinitions: [(query: OperationReference, definitions: [String: String])] {
        let written = members.map(\.catalog.sqlWrites.definitions).filter { !$0.isEmpty }
        let queries = members.flatMap { $0.catalog.connectors.values.flatMap(\.operations.values) }
        return queries.flatMap { query -> [(query: OperationReference, definitions: [String: String])] in
            guard let sites = query.automaticSites, sites.use == .refreshes else { return [] }
            let read = query.readWriteSet.sqlReads
            return (read.isEmpty ? [] : [read.definitions]).map { (query.reference, $0) }
                + (sites.source == .mutations ? written : []).map { (query.reference, $0) }
        }
    }

    package var members: [Member] { [current] + others }

    /// The formerly current versions that still accept clients, newest first.
    package var formers: [Member] { others.filter(\.takesRequests) }

    /// Whether requests are served the same as by `other`.
    package func isServed(as other: CatalogSet) -> Bool {
        members.map(\.version) == other.members.map(\.version)
            && formers.map(\.version) == other.formers.map(\.version)
    }

    /// Returns the operation in exactly this version, from any catalog that has it.
    package func operation(_ reference: OperationReference, version: Digest) -> StoredOperation? {
        if let operation = current.catalog.operation(reference), operation.version == version { return operation }
        for member in others {
            if let operation = member.catalog.operation(reference), operation.version == version { return operation }
        }
        return nil
    }

    /// Returns the operation from the current catalog, or from another one that has it.
    package func operation(_ reference: OperationReference) -> StoredOperation? {
        for member in members {
            if let operation = member.catalog.operation(reference) { return operation }
        }
        return nil
    }

    /// Returns the queries of any version that a mutation of any version can refresh, sorted.
    package func queriesRefreshed(by mutation: OperationReference) -> [OperationReference] {
        guard let refreshed else { return current.catalog.queriesRefreshed(by: mutation) }
        return refreshed[mutation] ?? []
    }

    /// Returns the claims of this mutation's auth that conditions of any version's queries read.
    package func authReadsOfConditions(on mutation: OperationReference) -> AuthReads {
        guard let conditionReads else { return current.catalog.authReadsOfConditions(on: mutation) }
        return conditionReads[mutation] ?? .nothing
    }
}
