import ChangeCapture
import SeededRandom
import Testing

@Suite struct ReplicationMessageTests {
    private func decoded(_ hex: String) throws -> ReplicationMessage {
        try ReplicationMessage(decoding: CapturedBytes.bytes(hex))
    }

    @Test func allMessagesOfARealServerAreDecoded() throws {
        for hex in CapturedBytes.all { _ = try decoded(hex) }
    }

    @Test func aTransactionHasItsPositionsTimeAndID() throws {
        #expect(
            try decoded(CapturedBytes.update[0])
                == .begin(commitLSN: 0x153_7700, committedAtMs: 1_795_739_123_393, xid: 0x2DC))
        #expect(try decoded(CapturedBytes.update[2]) == .commit(endLSN: 0x153_7730))
    }

    @Test func aRelationHasItsIdentityAndColumns() throws {
        #expect(
            try decoded(CapturedBytes.fullRelation)
                == .relation(
                    .init(
                        id: 0x4007, namespace: "public", name: "full_bid", identity: .full,
                        columns: [
                            .init(name: "id", isIdentity: true, typeOID: 23),
                            .init(name: "note", isIdentity: true, typeOID: 25),
                            .init(name: "at", isIdentity: true, typeOID: 1184),
                        ])))
    }

    @Test func aMessageHasItsPrefixAndContent() throws {
        #expect(
            try decoded(CapturedBytes.beat[1])
                == .message(isTransactional: true, lsn: 0x153_9028, prefix: "freshet.beat", content: [0x31]))
    }

    @Test func messagesThatEndEarlyOrLateAreRefused() throws {
        for hex in CapturedBytes.all {
            let bytes = CapturedBytes.bytes(hex)
            for length in 0..<bytes.count {
                #expect(throws: ReplicationDecodingError.self) {
                    try ReplicationMessage(decoding: Array(bytes[..<length]))
                }
            }
            #expect(throws: ReplicationDecodingError.self) { try ReplicationMessage(decoding: bytes + [0]) }
        }
    }

    @Test func binaryValuesAreRefused() throws {
        let error = #expect(throws: ReplicationDecodingError.self) {
            try ReplicationMessage(decoding: CapturedBytes.bytes("49000040004e000162000000017f"))
        }
        #expect(error?.description == "not a message of pgoutput: unknown kind of value 98 at byte 8")
    }

    @Test(arguments: [1 as UInt64, 2, 3])
    func damagedMessagesAreDecodedOrRefused(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var refused = 0
        for _ in 0..<20_000 {
            var bytes = CapturedBytes.bytes(CapturedBytes.all[random.below(CapturedBytes.all.count)])
            for _ in 0...random.below(4) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
            do { _ = try ReplicationMessage(decoding: bytes) } catch { refused += 1 }
        }
        // Positions and contents may be anything; tags and lengths may not.
        #expect(refused > 1000 && refused < 20_000)
    }
}
