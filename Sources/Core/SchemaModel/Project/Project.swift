/// A service as its folder describes it, in memory: the input of `Catalog.compile`.
package struct Project: Sendable {
    /// `serviceId`, the part of request paths after `services/`.
    package var serviceID: String
    /// `location`, the part of request paths after `locations/`.
    package var location: String
    /// The schema's files, in the order of their paths.
    package var schemaFiles: [SourceFile]
    /// Schemas of custom resolvers, in the order of `schemas`.
    package var resolvers: [ResolverSource]
    /// In the order of `connectorDirs`.
    package var connectors: [ConnectorSource]
    /// The text of `seed.sql` beside `dataconnect.yaml`, for development databases.
    package var seedSQL: String?
    /// What reading the folder warned about.
    package var warnings: [Diagnostic]

    package init(
        serviceID: String, location: String = "local", schemaFiles: [SourceFile], resolvers: [ResolverSource] = [],
        connectors: [ConnectorSource], seedSQL: String? = nil, warnings: [Diagnostic] = []
    ) {
        self.serviceID = serviceID
        self.location = location
        self.schemaFiles = schemaFiles
        self.resolvers = resolvers
        self.connectors = connectors
        self.seedSQL = seedSQL
        self.warnings = warnings
    }
}

/// One connector's operations, not yet parsed.
package struct ConnectorSource: Sendable {
    /// `connectorId`.
    package var id: String
    /// In the order of their paths.
    package var files: [SourceFile]
    /// Results of queries carry the ids of their rows, for clients with a normalised cache.
    package var includesEntityIDs: Bool

    package init(id: String, files: [SourceFile], includesEntityIDs: Bool = false) {
        self.id = id
        self.files = files
        self.includesEntityIDs = includesEntityIDs
    }
}
