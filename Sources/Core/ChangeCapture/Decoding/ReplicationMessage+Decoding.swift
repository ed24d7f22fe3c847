/// A message that is not one of `pgoutput`'s protocol version 1.
package struct ReplicationDecodingError: Error, Hashable, CustomStringConvertible {
    package let reason: String
    /// The number of bytes before the mistake.
    package let offset: Int

    package var description: String { "not a message of pgoutput: \(reason) at byte \(offset)" }
}

extension ReplicationMessage {
    /// Decodes the payload of one `XLogData` message. Bytes after the end are a mistake, too.
    package init(decoding bytes: [UInt8]) throws(ReplicationDecodingError) {
        var reader = ByteReader(bytes: bytes)
        self = try Self.read(&reader)
        guard reader.offset == bytes.count else { throw reader.error("\(bytes.count - reader.offset) bytes too many") }
    }

    private static func read(_ reader: inout ByteReader) throws(ReplicationDecodingError) -> ReplicationMessage {
        let tag = try reader.byte()
        switch tag {
        case UInt8(ascii: "B"):
            let lsn = try reader.uint64()
            let committedAtMs = try reader.timestampMs()
            return .begin(commitLSN: lsn, committedAtMs: committedAtMs, xid: try reader.uint32())
        case UInt8(ascii: "C"):
            try reader.skip(1 + 8)
            let endLSN = try reader.uint64()
            try reader.skip(8)
            return .commit(endLSN: endLSN)
        case UInt8(ascii: "R"): return .relation(try relation(&reader))
        case UInt8(ascii: "I"):
            let relation = try reader.uint32()
            try reader.expect("N")
            return .insert(relation: relation, new: try reader.row())
        case UInt8(ascii: "U"):
            let relation = try reader.uint32()
            let old = try oldRow(&reader, orElse: "N")
            return .update(relation: relation, old: old, new: try reader.row())
        case UInt8(ascii: "D"):
            let relation = try reader.uint32()
            guard let old = try oldRow(&reader, orElse: nil) else { throw reader.error("a delete without a row") }
            return .delete(relation: relation, old: old)
        case UInt8(ascii: "T"):
            let count = Int(try reader.uint32())
            try reader.skip(1)
            guard count <= reader.remaining / 4 else { throw reader.error("\(count) tables announced") }
            var relations: [UInt32] = []
            for _ in 0..<count { relations.append(try reader.uint32()) }
            return .truncate(relations: relations)
        case UInt8(ascii: "M"):
            let flags = try reader.byte()
            let lsn = try reader.uint64()
            let prefix = try reader.string()
            let length = Int(try reader.uint32())
            return .message(isTransactional: flags & 1 == 1, lsn: lsn, prefix: prefix, content: try reader.take(length))
        case UInt8(ascii: "Y"):
            try reader.skip(4)
            _ = try reader.string()
            _ = try reader.string()
            return .type
        case UInt8(ascii: "O"):
            try reader.skip(8)
            _ = try reader.string()
            return .origin
        default: throw reader.error("unknown kind \(tag)", back: 1)
        }
    }

    private static func relation(_ reader: inout ByteReader) throws(ReplicationDecodingError) -> Relation {
        let id = try reader.uint32()
        let namespace = try reader.string()
        let name = try reader.string()
        guard let identity = Identity(rawValue: try reader.byte()) else {
            throw reader.error("unknown replica identity", back: 1)
        }
        var columns: [Column] = []
        for _ in 0..<(try reader.uint16()) {
            let flags = try reader.byte()
            let column = try reader.string()
            let typeOID = try reader.uint32()
            columns.append(
                Column(
                    name: column, isIdentity: flags & 1 == 1, typeOID: typeOID,
                    typeModifier: Int32(bitPattern: try reader.uint32())))
        }
        // pg_catalog has an empty name in the protocol.
        return Relation(
            id: id, namespace: namespace.isEmpty ? "pg_catalog" : namespace, name: name, identity: identity,
            columns: columns)
    }

    /// Reads the former row and, if a new one can follow, the tag before that.
    private static func oldRow(
        _ reader: inout ByteReader, orElse next: Unicode.Scalar?
    ) throws(ReplicationDecodingError) -> OldRow? {
        let old: OldRow
        switch try reader.byte() {
        case UInt8(ascii: "K"): old = .identity(try reader.row())
        case UInt8(ascii: "O"): old = .full(try reader.row())
        case let tag where next.map { UInt8(ascii: $0) } == tag: return nil
        case let tag: throw reader.error("unknown kind of row \(tag)", back: 1)
        }
        if let next { try reader.expect(next) }
        return old
    }
}

private struct ByteReader {
    let bytes: [UInt8]
    private(set) var offset = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    var remaining: Int { bytes.count - offset }

    func error(_ reason: String, back: Int = 0) -> ReplicationDecodingError {
        ReplicationDecodingError(reason: reason, offset: offset - back)
    }

    mutating func skip(_ count: Int) throws(ReplicationDecodingError) {
        guard count <= remaining else { throw error("\(count) bytes expected, \(remaining) left") }
        offset += count
    }

    mutating func take(_ count: Int) throws(ReplicationDecodingError) -> [UInt8] {
        let start = offset
        try skip(count)
        return Array(bytes[start..<offset])
    }

    mutating func byte() throws(ReplicationDecodingError) -> UInt8 {
        try skip(1)
        return bytes[offset - 1]
    }

    mutating func expect(_ tag: Unicode.Scalar) throws(ReplicationDecodingError) {
        guard try byte() == UInt8(ascii: tag) else { throw error("\(tag) expected", back: 1) }
    }

    private mutating func integer(_ width: Int) throws(ReplicationDecodingError) -> UInt64 {
        var value: UInt64 = 0
        try skip(width)
        for byte in bytes[(offset - width)..<offset] { value = value << 8 | UInt64(byte) }
        return value
    }

    mutating func uint16() throws(ReplicationDecodingError) -> UInt16 { UInt16(try integer(2)) }
    mutating func uint32() throws(ReplicationDecodingError) -> UInt32 { UInt32(try integer(4)) }
    mutating func uint64() throws(ReplicationDecodingError) -> UInt64 { try integer(8) }

    /// Reads microseconds since 2000 as milliseconds since 1970.
    mutating func timestampMs() throws(ReplicationDecodingError) -> Int64 {
        Int64(bitPattern: try uint64()) / 1000 + 946_684_800_000
    }

    /// Reads a text that ends with a zero byte.
    mutating func string() throws(ReplicationDecodingError) -> String {
        guard let end = bytes[offset...].firstIndex(of: 0) else { throw error("a text without an end") }
        guard let text = String(validating: bytes[offset..<end], as: UTF8.self) else { throw error("not UTF-8") }
        offset = end + 1
        return text
    }

    mutating func row() throws(ReplicationDecodingError) -> [ReplicationMessage.Value] {
        var values: [ReplicationMessage.Value] = []
        for _ in 0..<(try uint16()) {
            switch try byte() {
            case UInt8(ascii: "n"): values.append(.null)
            case UInt8(ascii: "u"): values.append(.unchanged)
            case UInt8(ascii: "t"):
                let length = Int(try uint32())
                values.append(.text(try take(length)))
            // Binary values come only if a consumer requests them.
            case let kind: throw error("unknown kind of value \(kind)", back: 1)
            }
        }
        return values
    }
}
