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

    // In the log, an event has its row's other values before it. Bytes, because the log does not convert texts from the
    // server's encoding.
    private static let emit = Statement("SELECT pg_logical_emit_message(true, '\(logPrefix)', $1::bytea)")
    private static let emitForLaterDeployments = Statement(
        """
        SELECT pg_logical_emit_message(true, '\(logPrefix)', $1::bytea)
        WHERE EXISTS (SELECT FROM freshet.deployments WHERE id > $2::bigint)
        """)
    private static let emittedImages = "ltrim(coalesce(current_setting('freshet.rows', true), ''), $3::text)"
    private static let emitWithImages = Statement(
        """
        SELECT \(emittedImages), pg_logical_emit_message(
            true, '\(logPrefix)', $1::bytea || convert_to(\(emittedImages), 'UTF8') || $2::bytea)
        """)
    private static let emitWithImagesForLaterDeployments = Statement(
        """
        SELECT \(emittedImages), pg_logical_emit_message(
            true, '\(logPrefix)', $1::bytea || convert_to(\(emittedImages), 'UTF8') || $2::bytea)
        WHERE EXISTS (SELECT FROM freshet.deployments WHERE id > $4::bigint)
        """)

    /// Makes the step that inserts an event together with the images that the transaction has stored, and returns
    /// these.
    static func insertion(
        of event: MutationEvent, head: [UInt8], tail: [UInt8], shards: [ShardID], loadedDeployment: Int64,
        into kind: OutboxKind
    ) -> PostgresStep {
        let row = OutboxRow(id: event.id, shards: shards, event: [])
        // Removed from the beginning of the images: a comma where no other rows stand before them.
        let comma = Parameter.text(event.rows?.all.isEmpty == true ? "," : "")
        let deployment = Parameter.text(String(loadedDeployment))
        switch kind {
        case .table:
            let parameters: [Parameter] = [
                .text(row.id), .text(row.shardNumbers), .binary(head), .binary(tail), comma,
            ]
            guard row.isForLaterDeployments else { return (insertWithImages, parameters) }
            return (insertWithImagesForLaterDeployments, parameters + [deployment])
        case .wal:
            let parameters: [Parameter] = [.binary(row.logHead + head), .binary(tail), comma]
            guard row.isForLaterDeployments else { return (emitWithImages, parameters) }
            return (emitWithImagesForLaterDeployments, parameters + [deployment])
        }
    }

    /// Makes the step that inserts the row in the mutation's transaction.
    /// - Parameter loadedDeployment: the deployment that was loaded when the shards were chosen.
    func insertion(loadedDeployment: Int64, into kind: OutboxKind) -> PostgresStep {
        let step = insertion(into: kind)
        guard isForLaterDeployments else { return step }
        return (
            kind == .table ? Self.insertForLaterDeployments : Self.emitForLaterDeployments,
            step.parameters + [.text(String(loadedDeployment))]
        )
    }

    package func insertion(into kind: OutboxKind) -> PostgresStep {
        // A text's binary format is its bytes.
        switch kind {
        case .table: (Self.insert, [.text(id), .text(shardNumbers), .binary(event)])
        case .wal: (Self.emit, [.binary(logHead + event)])
        }
    }
}
