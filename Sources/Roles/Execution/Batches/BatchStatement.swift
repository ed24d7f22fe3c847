import LiveModel
import Postgres
import QuerySQL

/// The values of a statement that runs many variable sets: an array for each parameter and one of the known digests go
/// in; a row with ordinal, digest and body comes out for each set.
enum BatchStatement {
    static func parameters(
        of batch: QueryBatch, _ range: Range<Int>, _ items: [QueryExecutor.Item]
    ) -> [Parameter] {
        batch.columns.map { .text(PostgresArray.literal($0[range])) } + [
            .text(digests(batch.members[range].map { items[$0].knownDigest }))
        ]
    }

    /// The parameters for calls that know no digest.
    static func parameters(of calls: [WaitingCall]) -> [Parameter] {
        let columns = calls[0].parameters.indices.map { column in calls.map { $0.parameters[column] } }
        return columns.map { .text(PostgresArray.literal($0)) } + [
            .text(digests(Array(repeating: nil, count: calls.count)))
        ]
    }

    /// Returns a Postgres array of digests, with NULL for none.
    static func digests(_ known: [Digest?]) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(known.count * 65 + 2)
        bytes.append(UInt8(ascii: "{"))
        for digest in known {
            if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
            if let digest {
                digest.appendHex(to: &bytes)
            } else {
                bytes.append(contentsOf: "NULL".utf8)
            }
        }
        bytes.append(UInt8(ascii: "}"))
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Row {
    /// The ordinal, digest and body; nil without an ordinal.
    var ofBatch: BatchRun.Row? {
        ordinal(0).map { BatchRun.Row(ordinal: $0, digest: digest(1), body: self[2]) }
    }

    /// A number of at most nine digits; nil for anything else.
    private func ordinal(_ column: Int) -> Int? {
        withBytes(column) { bytes in
            guard let bytes, (1...9).contains(bytes.count) else { return nil }
            var number = 0
            for byte in bytes {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                number = number * 10 + Int(byte - UInt8(ascii: "0"))
            }
            return number
        }
    }

    /// A column with 64 hexadecimal digits; nil for anything else.
    func digest(_ column: Int) -> Digest? {
        withBytes(column) { bytes in bytes.flatMap { Digest(hexBytes: $0) } }
    }
}

extension BatchRun {
    /// Records a statement's failure.
    mutating func failed(_ members: Range<Int>, _ error: PostgresError) {
        if error.ranTooLong { return cutShort(members) }
        failed(members, RequestError(error), isRefused: error.isOfServer)
    }
}

extension PostgresError {
    var isOfServer: Bool {
        if case .server = code { true } else { false }
    }
}
