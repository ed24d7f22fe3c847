import Streams
/// A Lua script, called by the SHA-1 of its text (`EVALSHA`), by which a server knows the scripts that it has run.
struct Script: Sendable {
    let text: String
    let name: String

    init(_ text: String) {
        self.text = text
        name = sha1Hex(Array(text.utf8))
    }

    func write(into command: inout CommandBuffer, whole: Bool, keys: [String], _ arguments: [[UInt8]]) {
        command.begin(argumentCount: 3 + keys.count + arguments.count)
        command.argument(whole ? "EVAL" : "EVALSHA")
        command.argument(whole ? text : name)
        command.argument(keys.count)
        for key in keys { command.argument(key) }
        for argument in arguments { command.argument(argument) }
    }
}

/// Returns the SHA-1 (RFC 3174) of a message in lower-case hex. It identifies scripts and protects nothing.
func sha1Hex(_ message: [UInt8]) -> String {
    var hash: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
    var padded = message + [0x80]
    while padded.count % 64 != 56 { padded.append(0) }
    let bits = UInt64(message.count) * 8
    for shift in stride(from: 56, through: 0, by: -8) { padded.append(UInt8(truncatingIfNeeded: bits >> shift)) }

    func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
    for start in stride(from: 0, to: padded.count, by: 64) {
        var words = (0..<16).map { index in
            padded[(start + 4 * index)..<(start + 4 * index + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        for index in 16..<80 {
            words.append(rotate(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1))
        }
        var (a, b, c, d, e) = (hash[0], hash[1], hash[2], hash[3], hash[4])
        for index in 0..<80 {
            let (mix, constant): (UInt32, UInt32) =
                switch index {
                case ..<20: (b & c | ~b & d, 0x5A82_7999)
                case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
                case ..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            (a, b, c, d, e) = (rotate(a, 5) &+ mix &+ e &+ constant &+ words[index], a, rotate(b, 30), c, d)
        }
        hash = zip(hash, [a, b, c, d, e]).map { $0 &+ $1 }
    }
    let digits = Array("0123456789abcdef")
    return String(hash.flatMap { word in (0..<8).map { digits[Int(word >> (28 - 4 * $0)) & 15] } })
}
