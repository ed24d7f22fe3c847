/// Formats numbers.
enum NumberText {
    /// Appends a finite double in the shortest form that reads back as the same double. Infinities and NaN, which JSON
    /// cannot express, become `null`, as in ECMAScript.
    ///
    /// The layout is ECMAScript's Number::toString: plain digits for 1e-7 <= |x| < 1e21, otherwise an exponent. Unless
    /// `canonical`, `.0` is added to a number that would look like an integer.
    static func append(_ value: Double, to bytes: inout [UInt8], canonical: Bool) {
        guard value.isFinite else { return bytes.append(ascii: "null") }
        if value == 0 {
            return bytes.append(ascii: canonical ? "0" : value.sign == .minus ? "-0.0" : "0.0")
        }
        if let integer = exactInteger(value) {
            bytes.append(decimal: integer)
            if !canonical { bytes.append(ascii: ".0") }
            return
        }
        let decimal = ShortestDecimal(value)
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        layOut(decimal, to: &bytes, canonical: canonical)
    }

    /// Returns the integer that a double represents exactly, if below 2^53 in magnitude, where every integer is a
    /// double.
    static func exactInteger(_ value: Double) -> Int64? {
        guard value.magnitude < 0x1p53 else { return nil }
        // The conversion truncates; `Int64(exactly:)` would need libm linked in debug builds.
        let integer = Int64(value)
        return Double(integer) == value ? integer : nil
    }

    private static func layOut(_ decimal: ShortestDecimal, to bytes: inout [UInt8], canonical: Bool) {
        let digits = decimal.digits
        let point = decimal.point
        switch point {
        case digits.count...21:
            bytes.append(contentsOf: digits)
            bytes.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: point - digits.count))
            if !canonical { bytes.append(ascii: ".0") }
        case 1...21:
            bytes.append(contentsOf: digits[..<point])
            bytes.append(UInt8(ascii: "."))
            bytes.append(contentsOf: digits[point...])
        case -5...0:
            bytes.append(ascii: "0.")
            bytes.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: -point))
            bytes.append(contentsOf: digits)
        default:
            bytes.append(digits[0])
            if digits.count > 1 {
                bytes.append(UInt8(ascii: "."))
                bytes.append(contentsOf: digits[1...])
            }
            bytes.append(ascii: point > 0 ? "e+" : "e-")
            bytes.append(decimal: Int64(abs(point - 1)))
        }
    }
}

/// |x| = 0.d1d2d3… * 10^point with the fewest digits that read back as x, without leading or trailing zeros.
///
/// Takes the digits from the standard library's `description`, whose layout differs.
private struct ShortestDecimal {
    var digits: [UInt8] = []
    var point = 0

    init(_ value: Double) {
        digits.reserveCapacity(32)
        var sawPoint = false
        var exponent = 0
        var exponentSign = 0
        for byte in value.magnitude.description.utf8 {
            switch byte {
            case UInt8(ascii: "."): sawPoint = true
            case UInt8(ascii: "e"), UInt8(ascii: "+"): exponentSign = 1
            case UInt8(ascii: "-"): exponentSign = -1
            case _ where exponentSign != 0: exponent = exponent * 10 + Int(byte - UInt8(ascii: "0"))
            default:
                if byte != UInt8(ascii: "0") || !digits.isEmpty { digits.append(byte) }
                if !sawPoint { if !digits.isEmpty { point += 1 } } else if digits.isEmpty { point -= 1 }
            }
        }
        point += exponentSign * exponent
        while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    }
}

extension [UInt8] {
    mutating func append(ascii text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(decimal value: Int64) {
        if value < 0 { append(UInt8(ascii: "-")) }
        var rest = value.magnitude
        let start = count
        repeat {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        self[start...].reverse()
    }
}
