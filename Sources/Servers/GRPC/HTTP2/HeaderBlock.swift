import NIOCore
import NIOHPACK

/// Encodes header fields without Huffman codes and without the dynamic table, so that an encoder has no state: our
/// responses have few and short fields, and a table for each connection would cost more than it saves. Source: RFC 7541
/// section 6.2.2.
enum HeaderBlock {
    /// Sets the size of the peer's dynamic table to 0. Must begin the first block after the peer has limited its table
    /// (RFC 7541 section 4.2).
    static let emptyTable: UInt8 = 0x20
    /// `:status: 200`, entry 8 of the static table.
    private static let statusOK: UInt8 = 0x88
    /// The names `:status` and `content-type`, entries 8 and 31: four bits, and the rest in another byte.
    private static let status: [UInt8] = [0x08]
    private static let contentType: [UInt8] = [0x0F, 31 - 15]

    static func write(_ fields: HPACKHeaders, to buffer: inout ByteBuffer) {
        for (name, value, _) in fields {
            switch name {
            case ":status" where value == "200": buffer.writeInteger(statusOK)
            case ":status":
                buffer.writeBytes(status)
                write(value, to: &buffer)
            case "content-type":
                buffer.writeBytes(contentType)
                write(value, to: &buffer)
            default:
                buffer.writeInteger(UInt8(0))
                write(name, to: &buffer)
                write(value, to: &buffer)
            }
        }
    }

    /// Writes a length with a prefix of seven bits (RFC 7541 section 5.1) and the string.
    private static func write(_ text: String, to buffer: inout ByteBuffer) {
        var rest = text.utf8.count
        if rest < 127 {
            buffer.writeInteger(UInt8(rest))
        } else {
            buffer.writeInteger(UInt8(127))
            rest -= 127
            while rest >= 128 {
                buffer.writeInteger(UInt8(rest & 0x7F) | 0x80)
                rest >>= 7
            }
            buffer.writeInteger(UInt8(rest))
        }
        buffer.writeString(text)
    }
}
