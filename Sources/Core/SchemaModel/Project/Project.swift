/// A service in memory, as its folder describes it: the input of `Catalog.compile`.
package struct Project: Sendable {
    /// The `serviceId`, which follows `services/` in request paths.
    package var serviceID: String
    /// The `location`, which follows `locations/` in request paths.
    package var location: String
    /// The schema's files, sorted by path.
    package var schemaFiles: [SourceFile]
    /// Schemas of custom resolvers, in the order of `schemas`.
    package var resolvers: [ResolverSource]
    /// Connectors in the order of `connectorDirs`.
    package var connectors: [ConnectorSource]
    /// Which queries refresh without a rule.
    package var automaticRefresh: AutomaticRefresh
    /// The tables that its native SQL and views read, as a database says; `.none` until one is asked.
    package var sqlReads = SQLReads.none
    /// The tables that the native SQL of its mutations writes, as a database says; `.none` until one is asked.
    package var sqlWrites = SQLWrites.none
    /// The text of `seed.sql` next to `dataconnect.yaml`, for development databases.
    package var seedSQL: String?
    /// Warnings from reading the folder.
    package var warnings: [Diagnostic]

    package init(
        serviceID: String, location: String = "local", schemaFiles: [SourceFile], resolvers: [ResolverSource] = [],
        connectors: [ConnectorSource], automaticRefresh: AutomaticRefresh = .off, seedSQL: String? = nil,
        warnings: [Diagnostic] = []
    ) {
        self.serviceID = serviceID
        self.location = location
        self.schemaFiles = schemaFiles
        self.resolvers = resolvers
        self.connectors = connectors
        self.automaticRefresh = automaticRefresh
        self.seedSQL = seedSQL
        self.warnings = warnings
    }
}

/// A connector's operations, not yet parsed.
package struct ConnectorSource: Sendable {
    /// `connectorId`.
    package var id: String
    /// Sorted by path.
    package var files: [SourceFile]
    /// Whether query results include the ids of their rows, for clients with a normalised cache.
    package var includesEntityIDs: Bool

    package init(id: String, files: [SourceFile], includesEntityIDs: Bool = false) {
        self.id = id
        self.files = files
        self.includesEntityIDs = includesEntityIDs
    }
}
