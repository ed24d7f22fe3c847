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

    /// The images of the transaction (`RowImages`). Each begins with a comma, which the first of a list must not have.
    private static let images = "ltrim(coalesce(current_setting('freshet.rows', true), ''), $5::text)"
    private static let insertWithImages = Statement(
        """
        INSERT INTO freshet.outbox (id, shards, event)
        VALUES ($1::uuid, $2::int[], $3::text || \(images) || $4::text) RETURNING \(images)
        """)
    private static let insertWithImagesForLaterDeployments = Statement(
        """
        INSERT INTO freshet.outbox (id, shards, event)
        SELECT $1::uuid, $2::int[], $3::text || \(images) || $4::text
        WHERE EXISTS (SELECT FROM freshet.deployments WHERE id > $6::bigint) RETURNING \(images)
        """)

    /// Makes the step that inserts an event together with the images that the transaction has stored, and returns
    /// these.
    static func insertion(
        of event: MutationEvent, head: [UInt8], tail: [UInt8], shards: [ShardID], loadedDeployment: Int64
    ) -> PostgresStep {
        let row = OutboxRow(id: event.id, shards: shards, event: [])
        let parameters: [Parameter] = [
            .text(row.id), .text(row.shardNumbers), .binary(head), .binary(tail),
            .text(event.rows?.all.isEmpty == true ? "," : ""),
        ]
        guard row.isForLaterDeployments else { return (insertWithImages, parameters) }
        return (insertWithImagesForLaterDeployments, parameters + [.text(String(loadedDeployment))])
    }

    /// Makes the step that inserts the row in the mutation's transaction.
    /// - Parameter loadedDeployment: the deployment that was loaded when the shards were chosen.
    func insertion(loadedDeployment: Int64) -> PostgresStep {
        guard isForLaterDeployments else { return insertion }
        return (Self.insertForLaterDeployments, insertion.parameters + [.text(String(loadedDeployment))])
    }

    /// The shards as the text of an array.
    private var shardNumbers: String {
        var numbers = "{"
        for shard in shards {
            if numbers.utf8.count > 1 { numbers += "," }
            numbers += String(shard.number)
        }
        return numbers + "}"
    }

    package var insertion: PostgresStep {
        (
            Self.insert,
            [
                .text(id), .text(shardNumbers),
                // A text's binary format is its bytes.
                .binary(event),
            ]
        )
    }
}
