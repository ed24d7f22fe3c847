/// Parses one JSON number.
enum NumberScanner {
    /// 10^0…10^22, which are exact doubles: multiplying or dividing a significand below 2^53 by one rounds once,
    /// correctly.
    private static let exactPowers: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]

    /// Parses the number at `at`, its sign or first digit, and moves `at` past it.
    static func parse(_ base: UnsafePointer<UInt8>, count: Int, at: inout Int) throws(JSONError) -> JSONValue {
        let start = at
        let isNegative = base[at] == UInt8(ascii: "-")
        if isNegative { at += 1 }
        // Valid unless `overflow` is set; then the text is converted instead.
        var significand: UInt64 = 0
        var overflow = false

        let integerStart = at
        scanDigits(base, count: count, at: &at, significand: &significand, overflow: &overflow)
        try require(at > integerStart, count, at)
        guard base[integerStart] != UInt8(ascii: "0") || at == integerStart + 1 else {
            throw JSONError(code: .invalidNumber, offset: integerStart)
        }
        let hasFraction = at < count && base[at] == UInt8(ascii: ".")
        let hasExponent = at < count && base[at] | 0x20 == UInt8(ascii: "e")
        if !hasFraction && !hasExponent, !overflow {
            if significand <= UInt64(Int64.max) {
                return .int(isNegative ? -Int64(significand) : Int64(significand))
            }
            if isNegative, significand == Int64.min.magnitude { return .int(.min) }
        }

        var exponent = 0
        if hasFraction {
            at += 1
            let fractionStart = at
            scanDigits(base, count: count, at: &at, significand: &significand, overflow: &overflow)
            try require(at > fractionStart, count, at)
            exponent = fractionStart - at
        }
        if at < count, base[at] | 0x20 == UInt8(ascii: "e") {
            exponent += try scanExponent(base, count: count, at: &at)
        }
        if !overflow, significand < 1 << 53, exponent.magnitude <= 22 {
            let power = exactPowers[Int(exponent.magnitude)]
            let magnitude = exponent < 0 ? Double(significand) / power : Double(significand) * power
            return .double(isNegative ? -magnitude : magnitude)
        }
        let text = String(decoding: UnsafeBufferPointer(start: base + start, count: at - start), as: UTF8.self)
        guard let number = Double(text), number.isFinite else {
            throw JSONError(code: .numberOutOfRange, offset: start)
        }
        return .double(number)
    }

    @inline(__always)
    private static func scanDigits(
        _ base: UnsafePointer<UInt8>, count: Int, at: inout Int, significand: inout UInt64, overflow: inout Bool
    ) {
        while at < count {
            let digit = base[at] &- UInt8(ascii: "0")
            guard digit < 10 else { return }
            let (product, carry) = significand.multipliedReportingOverflow(by: 10)
            let (sum, carry2) = product.addingReportingOverflow(UInt64(digit))
            if carry || carry2 { overflow = true }
            significand = sum
            at += 1
        }
    }

    /// Parses the exponent, clamped to bounds beyond any double, however many digits precede it.
    private static func scanExponent(
        _ base: UnsafePointer<UInt8>, count: Int, at: inout Int
    ) throws(JSONError) -> Int {
        at += 1
        var isNegative = false
        if at < count, base[at] == UInt8(ascii: "+") || base[at] == UInt8(ascii: "-") {
            isNegative = base[at] == UInt8(ascii: "-")
            at += 1
        }
        let digitsStart = at
        var exponent = 0
        while at < count {
            let digit = base[at] &- UInt8(ascii: "0")
            guard digit < 10 else { break }
            exponent = min(exponent * 10 + Int(digit), 1 << 40)
            at += 1
        }
        try require(at > digitsStart, count, at)
        return isNegative ? -exponent : exponent
    }

    private static func require(_ hasDigit: Bool, _ count: Int, _ at: Int) throws(JSONError) {
        guard !hasDigit else { return }
        throw JSONError(code: at < count ? .invalidNumber : .unexpectedEnd, offset: at)
    }
}
