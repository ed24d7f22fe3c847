package import LiveModel
package import Postgres

extension OutboxRow {
    private static let insert = Statement(
        "INSERT INTO freshet.outbox (id, shards, event) VALUES ($1::uuid, $2::int[], $3::text)")

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
