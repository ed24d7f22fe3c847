/// The error of bytes that are not a Protocol Buffers message.
package struct ProtobufError: Error, Sendable, Hashable {
    package let message: String
}

/// Reads the fields of one message in order. Source: protobuf.dev, Encoding.
///
/// SQL Connect needs a dozen small messages and `Struct`, and `Struct` is needed as JSON anyway. So the wire format is
/// read directly, without generated types in between.
struct ProtobufReader {
    enum Payload {
        case varint(UInt64)
        case fixed64(UInt64)
        case fixed32(UInt32)
        case bytes(ArraySlice<UInt8>)
    }

    struct Field {
        let number: Int
        let payload: Payload
    }

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// Nil at the end.
    mutating func next() throws(ProtobufError) -> Field? {
        guard !rest.isEmpty else { return nil }
        let tag = try varint()
        guard let number = Int(exactly: tag >> 3), (1...536_870_911).contains(number) else {
            throw ProtobufError(message: "a field has no valid number")
        }
        switch tag & 7 {
        case 0: return Field(number: number, payload: .varint(try varint()))
        case 1: return Field(number: number, payload: .fixed64(UInt64(littleEndian: try fixed())))
        case 2:
            let count = try varint()
            guard count <= UInt64(rest.count) else { throw ProtobufError(message: "a field is cut off") }
            let bytes = rest.prefix(Int(count))
            rest = rest.dropFirst(Int(count))
            return Field(number: number, payload: .bytes(bytes))
        case 5: return Field(number: number, payload: .fixed32(UInt32(littleEndian: try fixed())))
        default: throw ProtobufError(message: "a field has an unknown wire type")
        }
    }

    private mutating func varint() throws(ProtobufError) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while let byte = rest.popFirst() {
            if shift == 63, byte > 1 { break }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
            if shift > 63 { break }
        }
        throw ProtobufError(message: "a number is cut off or too long")
    }

    private mutating func fixed<Number: FixedWidthInteger>() throws(ProtobufError) -> Number {
        let count = MemoryLayout<Number>.size
        guard rest.count >= count else { throw ProtobufError(message: "a field is cut off") }
        var value: Number = 0
        withUnsafeMutableBytes(of: &value) { $0.copyBytes(from: rest.prefix(count)) }
        rest = rest.dropFirst(count)
        return value
    }
}

extension ProtobufReader.Field {
    var bytes: ArraySlice<UInt8> {
        get throws(ProtobufError) {
            guard case .bytes(let bytes) = payload else {
                throw ProtobufError(message: "field \(number) has a wrong type")
            }
            return bytes
        }
    }

    var string: String {
        get throws(ProtobufError) {
            guard let text = String(validating: try bytes, as: UTF8.self) else {
                throw ProtobufError(message: "field \(number) is not UTF-8")
            }
            return text
        }
    }

    var bool: Bool {
        get throws(ProtobufError) {
            guard case .varint(let value) = payload else {
                throw ProtobufError(message: "field \(number) has a wrong type")
            }
            return value != 0
        }
    }
}

/// Writes the fields of one message.
struct ProtobufWriter {
    private(set) var bytes: [UInt8] = []

    mutating func field(_ number: Int, string: String) {
        field(number, Array(string.utf8))
    }

    /// A message, or a string that is UTF-8 bytes already.
    mutating func field(_ number: Int, _ value: [UInt8]) {
        tag(number, 2)
        varint(UInt64(value.count))
        bytes.append(contentsOf: value)
    }

    mutating func field(_ number: Int, varint value: UInt64) {
        tag(number, 0)
        varint(value)
    }

    mutating func field(_ number: Int, double value: Double) {
        tag(number, 1)
        withUnsafeBytes(of: value.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
    }

    private mutating func tag(_ number: Int, _ wireType: UInt64) {
        varint(UInt64(number) << 3 | wireType)
    }

    private mutating func varint(_ value: UInt64) {
        var value = value
        while value >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        bytes.append(UInt8(value))
    }
}
