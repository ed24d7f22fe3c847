/// `base64.encode` and `base64.decode` (RFC 4648 §4). Padding is optional when decoding.
enum EncoderFunctions {
    static let all: [FunctionDeclaration] = [
        FunctionDeclaration("base64.encode", [Extensions.function("base64_encode_bytes", [.bytes], .string)]) {
            (arguments, budget, limits) throws(EvaluationError) in
            guard case .bytes(let bytes) = arguments[0] else { throw EvaluationError(.noSuchOverload) }
            try budget.charge(text: bytes.count / 3 * 4 + 4, limits)
            return .string(encode(bytes))
        },
        FunctionDeclaration("base64.decode", [Extensions.function("base64_decode_string", [.string], .bytes)]) {
            (arguments, budget, limits) throws(EvaluationError) in
            let text = try arguments.text(0)
            try budget.charge(text: text.utf8.count, limits)
            guard let bytes = decode(text) else { throw EvaluationError(.invalidArgument) }
            return .bytes(bytes)
        },
    ]

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits: UInt32 = 0
            for byte in group { bits = bits << 8 | UInt32(byte) }
            bits <<= UInt32(8 * (3 - group.count))
            for position in 0..<4 {
                text.append(
                    position <= group.count
                        ? alphabet[Int(bits >> UInt32(18 - 6 * position) & 63)] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func decode(_ text: String) -> [UInt8]? {
        var digits = Array(text.utf8)
        let isPadded = digits.last == UInt8(ascii: "=")
        if isPadded, digits.count % 4 != 0 { return nil }
        var paddingCount = 0
        while digits.last == UInt8(ascii: "="), paddingCount < 2 {
            digits.removeLast()
            paddingCount += 1
        }
        if digits.count % 4 == 1 { return nil }
        var bytes: [UInt8] = []
        for start in stride(from: 0, to: digits.count, by: 4) {
            let group = digits[start..<min(start + 4, digits.count)]
            var bits: UInt32 = 0
            for digit in group {
                guard let value = alphabet.firstIndex(of: digit) else { return nil }
                bits = bits << 6 | UInt32(value)
            }
            bits <<= UInt32(6 * (4 - group.count))
            for position in 0..<group.count - 1 { bytes.append(UInt8(bits >> UInt32(16 - 8 * position) & 255)) }
        }
        return bytes
    }
}
