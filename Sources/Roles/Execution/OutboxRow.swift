package import LiveModel
package import Postgres

extension OutboxRow {
    private static let insert = Statement(
        "INSERT INTO freshet.outbox (id, shards, event) VALUES ($1::uuid, $2::int[], $3::text)")
    private static let insertForLaterDeployments = Statement(
        """
        INSERT INTO freshet.outbox (id, shards, event) SELECT $1::uuid, $2::int[], $3::text
        WHERE EXISTS (SELECT FROM freshet.deployments WHERE id > $4::bigint)
        """)

    /// Makes the step that inserts the row in the mutation's transaction.
    /// - Parameter loadedDeployment: the deployment that was loaded when the shards were chosen.
    func insertion(loadedDeployment: Int64) -> PostgresStep {
        guard isForLaterDeployments else { return insertion }
        return (Self.insertForLaterDeployments, insertion.parameters + [.text(String(loadedDeployment))])
    }

    package var insertion: PostgresStep {
        var numbers = "{"
        for shard in shards {
            if numbers.utf8.count > 1 { numbers += "," }
            numbers += String(shard.number)
        }
        numbers += "}"
        return (
            Self.insert,
            [
                .text(id), .text(numbers),
                // A text's binary format is its bytes.
                .binary(event),
            ]
        )
    }
}
