/// A duration in nanoseconds, about ±292 years, as in the reference implementation. Arithmetic that leaves this range
/// is an error.
package struct DurationValue: Sendable, Hashable, Comparable {
    package let nanoseconds: Int64

    static let perSecond: Int64 = 1_000_000_000

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Returns nil if out of range.
    package init?(seconds: Int64, nanoseconds: Int64 = 0) {
        let (product, overflow) = seconds.multipliedReportingOverflow(by: Self.perSecond)
        let (sum, sumOverflow) = product.addingReportingOverflow(nanoseconds)
        guard !overflow, !sumOverflow else { return nil }
        self.nanoseconds = sum
    }

    package static func < (left: DurationValue, right: DurationValue) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}

extension DurationValue {
    private static let units: [(name: String, nanoseconds: UInt64)] = [
        ("ns", 1), ("us", 1_000), ("µs", 1_000), ("μs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000),
        ("m", 60_000_000_000), ("h", 3_600_000_000_000),
    ]

    /// Parses a sequence of decimal numbers with units, for example `1h15m`, `-1.5s` or `300ms`. Returns nil if
    /// malformed or out of range.
    package init?(_ text: String) {
        var rest = Substring(text).utf8
        var isNegative = false
        if let sign = rest.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
            isNegative = sign == UInt8(ascii: "-")
            rest.removeFirst()
        }
        if rest.elementsEqual("0".utf8) {
            nanoseconds = 0
            return
        }
        guard !rest.isEmpty else { return nil }
        var total: UInt64 = 0
        while !rest.isEmpty {
            guard let part = Self.readPart(&rest) else { return nil }
            let (sum, overflow) = total.addingReportingOverflow(part)
            guard !overflow else { return nil }
            total = sum
        }
        guard total <= (isNegative ? Int64.min : Int64.max).magnitude else { return nil }
        nanoseconds = Int64(truncatingIfNeeded: isNegative ? 0 &- total : total)
    }

    /// Reads one number with its unit; returns nanoseconds.
    private static func readPart(_ rest: inout Substring.UTF8View) -> UInt64? {
        let whole = takeDigits(&rest)
        var fraction: [UInt8] = []
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            fraction = takeDigits(&rest)
        }
        guard !whole.isEmpty || !fraction.isEmpty else { return nil }
        let name = Array(rest.prefix { !isDigit($0) && $0 != UInt8(ascii: ".") })
        guard let unit = units.first(where: { name.elementsEqual($0.name.utf8) })?.nanoseconds else { return nil }
        rest = rest.dropFirst(name.count)
        guard let value = whole.isEmpty ? 0 : UInt64(String(decoding: whole, as: UTF8.self)) else { return nil }
        let (scaled, overflow) = value.multipliedReportingOverflow(by: unit)
        guard !overflow else { return nil }
        // Fractions of a nanosecond are dropped; even for hours, 13 decimals are above that.
        let digits = fraction.prefix(18)
        let numerator = digits.reduce(0 as UInt128) { $0 * 10 + UInt128($1 - UInt8(ascii: "0")) }
        let denominator = digits.reduce(1 as UInt128) { power, _ in power * 10 }
        let fractionNanoseconds = UInt64(numerator * UInt128(unit) / denominator)
        let (sum, sumOverflow) = scaled.addingReportingOverflow(fractionNanoseconds)
        return sumOverflow ? nil : sum
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }

    private static func takeDigits(_ rest: inout Substring.UTF8View) -> [UInt8] {
        let digits = Array(rest.prefix(while: isDigit))
        rest = rest.dropFirst(digits.count)
        return digits
    }

    /// The duration in seconds with as many decimals as needed, for example `-1.5s`.
    package var text: String {
        let magnitude = nanoseconds.magnitude
        let seconds = magnitude / UInt64(Self.perSecond)
        let sign = nanoseconds < 0 ? "-" : ""
        return sign + String(seconds) + fractionText(nanoseconds: Int64(magnitude % UInt64(Self.perSecond))) + "s"
    }
}

/// Returns `.` and up to nine decimals without trailing zeros; empty for zero.
func fractionText(nanoseconds: Int64) -> String {
    guard nanoseconds != 0 else { return "" }
    var digits = String(nanoseconds)
    digits = String(repeating: "0", count: 9 - digits.utf8.count) + digits
    while digits.hasSuffix("0") { digits.removeLast() }
    return "." + digits
}
