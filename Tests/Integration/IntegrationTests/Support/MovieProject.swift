/// A project of one table and one connector, `movies`, without automatic refresh.
enum MovieProject {
    /// Returns its files by path.
    /// - Parameters:
    ///   - fields: of the type `Movie`; `id` is its key.
    ///   - operations: of the connector.
    static func files(fields: String, operations: String) -> [String: String] {
        [
            "dataconnect.yaml": """
            specVersion: v1
            serviceId: movies
            location: local
            schema: {source: ./schema, datasource: {postgresql: {}}}
            connectorDirs: [./movies]
            """,
            "refresh.yaml": "automatic: off\n",
            "seed.sql": "SELECT 1;\n",
            "schema/schema.gql": "type Movie @table(key: \"id\") { \(fields) }\n",
            "movies/connector.yaml": "connectorId: movies\n",
            "movies/movies.gql": operations,
        ]
    }
}
