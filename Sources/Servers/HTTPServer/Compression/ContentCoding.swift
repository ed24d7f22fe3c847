/// The content coding that a client wants (RFC 9110 section 12.5.3).
enum ContentCoding {
    /// Whether `Accept-Encoding` prefers gzip to the plain body. A client that sends no such field gets the plain one.
    static func prefersGzip(_ header: String) -> Bool {
        var (gzip, identity, others): (Int?, Int?, Int?)
        for item in header.utf8.split(separator: UInt8(ascii: ",")) {
            let parts = item.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            guard let weight = weight(parts.dropFirst()) else { continue }
            switch Substring(trimmed(parts[0])).lowercased() {
            case "gzip", "x-gzip": gzip = weight
            case "identity": identity = weight
            case "*": others = weight
            default: break
            }
        }
        guard let wanted = gzip ?? others, wanted > 0 else { return false }
        return wanted >= identity ?? 0
    }

    /// The weight in thousandths; nil if it is malformed.
    private static func weight(_ parameters: some Sequence<Substring.UTF8View>) -> Int? {
        for parameter in parameters {
            let bytes = Array(trimmed(parameter))
            guard bytes.count >= 3, bytes[0] | 0x20 == UInt8(ascii: "q"), bytes[1] == UInt8(ascii: "=") else {
                return nil
            }
            return thousandths(bytes[2...])
        }
        return 1_000
    }

    /// `qvalue`: 0 or 1, and up to three decimals.
    private static func thousandths(_ bytes: ArraySlice<UInt8>) -> Int? {
        guard let first = bytes.first, first == UInt8(ascii: "0") || first == UInt8(ascii: "1") else { return nil }
        let decimals = bytes.dropFirst(2)
        guard bytes.count == 1 || bytes[bytes.startIndex + 1] == UInt8(ascii: "."), decimals.count <= 3 else {
            return nil
        }
        var value = Int(first - UInt8(ascii: "0"))
        for place in 0..<3 {
            let digit = place < decimals.count ? decimals[decimals.startIndex + place] : UInt8(ascii: "0")
            guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { return nil }
            value = value * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return value <= 1_000 ? value : nil
    }

    private static func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
        func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var rest = text.drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return rest
    }
}
