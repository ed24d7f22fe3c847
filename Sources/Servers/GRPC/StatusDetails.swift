/// Encodes a status as the trailer `grpc-status-details-bin`: a `google.rpc.Status` in base64. Clients that read errors
/// from it find the code and the message there, too.
enum StatusDetails {
    static func encoded(_ code: Int, _ message: String) -> String {
        let text = Array(message.utf8)
        // Fields 1 (code, varint) and 2 (message, bytes).
        let status = [0x08] + varint(code) + [0x12] + varint(text.count) + text
        return base64(status)
    }

    private static func varint(_ number: Int) -> [UInt8] {
        var rest = UInt64(number)
        var bytes: [UInt8] = []
        while rest >= 0x80 {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    /// RFC 4648 section 4, without padding, as gRPC prefers it.
    private static func base64(_ bytes: [UInt8]) -> String {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var bits: UInt32 = 0
        var count = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(digits[Int(bits >> UInt32(count) & 0x3F)])
            }
        }
        if count > 0 { text.append(digits[Int(bits << UInt32(6 - count) & 0x3F)]) }
        return String(decoding: text, as: UTF8.self)
    }
}
