import ArgumentParser

extension AdminCommand {
    struct Invalidate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Has SDK clients drop a row, a query's results or everything from their caches.",
            discussion: """
                Clients that are connected drop it at once and fetch again what they follow; others do when they \
                connect. Give --type and --key, --operation, or --connector.
                """)
        @OptionGroup var connection: Connection

        @Option(help: "The row's type, such as Lot.")
        var type: String?

        @Option(help: "The row's key: a value, or several as a JSON array.")
        var key: String?

        @Option(help: "A query, CONNECTOR/OPERATION, with any variables.")
        var operation: String?

        @Option(help: "A connector, of which everything is dropped.")
        var connector: String?

        func validate() throws {
            let given = [type, operation, connector].count { $0 != nil }
            guard given == 1, (type == nil) == (key == nil) else {
                throw ValidationError("Give --type and --key, --operation, or --connector, and only one of these.")
            }
        }

        func run() async {
            let query = Connection.query([
                ("type", type), ("key", key), ("operation", operation), ("connector", connector),
            ])
            await connection.act("/admin/v1/invalidations" + query)
        }
    }
}
