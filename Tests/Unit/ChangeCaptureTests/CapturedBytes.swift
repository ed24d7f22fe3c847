/// Messages that Postgres 15.18 sent for the statements named beside them, from a slot of `pgoutput` with the options
/// `proto_version '1'` and `messages 'true'`.
///
///     CREATE TABLE bid(id uuid PRIMARY KEY, lot uuid, amount int, big text, ok bool);
///     CREATE TABLE full_bid(id int PRIMARY KEY, note text, at timestamptz);
///     ALTER TABLE full_bid REPLICA IDENTITY FULL;
///     CREATE TABLE felt(id bigint PRIMARY KEY, m mood);
enum CapturedBytes {
    static let id = "36623165306334652d376133642d346134662d396430652d3031323334353637383961"
    static let lot = "740000002430303030303030302d303030302d303030302d303030302d303030303030303030303031"

    static let bidRelation =
        "52000040007075626c696300626964006400050169640000000b86ffffffff006c6f740000000b86ffffffff00616d6f756e740000"
        + "000017ffffffff006269670000000019ffffffff006f6b0000000010ffffffff"
    static let fullRelation =
        "52000040077075626c69630066756c6c5f626964006600030169640000000017ffffffff016e6f74650000000019ffffffff016174"
        + "00000004a0ffffffff"
    static let feltRelation =
        "52000040137075626c69630066656c74006400020169640000000014ffffffff006d000000400fffffffff"

    /// `UPDATE bid SET amount = 6`, with a long text in `big` that stays.
    static let update = [
        "42000000000153770000030435dd574457000002dc",
        "55000040004e00057400000024\(id)62\(lot)74000000013675740000000174",
        "43000000000001537700000000000153773000030435dd574457",
    ]
    /// `UPDATE bid SET id = …`
    static let keyUpdate = [
        "42000000000153784000030435dd5744b8000002dd",
        "55000040004b00057400000024\(id)626e6e6e6e4e00057400000024\(id)63\(lot)74000000013675740000000174",
        "43000000000001537840000000000153787000030435dd5744b8",
    ]
    /// `DELETE FROM bid`
    static let delete = [
        "42000000000153793000030435dd5744fa000002de",
        "44000040004b00057400000024\(id)636e6e6e6e",
        "43000000000001537930000000000153796000030435dd5744fa",
    ]
    /// `INSERT INTO full_bid VALUES (1, 'a', '2026-01-02 03:04:05.6+00')`
    static let fullInsert = [
        "420000000001537a4800030435dd5745ab000002df", fullRelation,
        "49000040074e00037400000001317400000001617400000018323032362d30312d30322030333a30343a30352e362b3030",
        "43000000000001537a480000000001537a7800030435dd5745ab",
    ]
    /// `UPDATE full_bid SET note = NULL`
    static let fullUpdate = [
        "420000000001537ae000030435dd574606000002e0",
        "55000040074f00037400000001317400000001617400000018323032362d30312d30322030333a30343a30352e362b3030"
            + "4e00037400000001316e7400000018323032362d30312d30322030333a30343a30352e362b3030",
        "43000000000001537ae00000000001537b1000030435dd574606",
    ]
    /// `DELETE FROM full_bid`
    static let fullDelete = [
        "420000000001537b6000030435dd57463a000002e1",
        "44000040074f00037400000001316e7400000018323032362d30312d30322030333a30343a30352e362b3030",
        "43000000000001537b600000000001537b9000030435dd57463a",
    ]
    /// `INSERT INTO felt VALUES (9007199254740993, 'bad')`
    static let enumInsert = [
        "420000000001537c7800030435dd5746c9000002e2", "590000400f7075626c6963006d6f6f6400", feltRelation,
        "49000040134e00027400000010393030373139393235343734303939337400000003626164",
        "43000000000001537c780000000001537ca800030435dd5746c9",
    ]
    /// `TRUNCATE bid, felt CASCADE`
    static let truncate = [
        "420000000001538de000030435dd57499d000002e3",
        bidRelation, "590000400f7075626c6963006d6f6f6400", feltRelation,
        "5400000002010000400000004013",
        "43000000000001538de00000000001538fe800030435dd57499d",
    ]
    /// `SELECT pg_logical_emit_message(true, 'freshet.beat', '1')`
    static let beat = [
        "42000000000153902800030435dd574b41000002e4",
        "4d010000000001539028667265736865742e62656174000000000131",
        "43000000000001539028000000000153905800030435dd574b41",
    ]

    static let all =
        [[bidRelation], update, keyUpdate, delete, fullInsert, fullUpdate, fullDelete, enumInsert, truncate, beat]
        .flatMap(\.self)

    static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.utf8.map { UInt8($0 > 0x39 ? $0 - 0x57 : $0 - 0x30) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
