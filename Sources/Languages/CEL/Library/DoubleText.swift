/// Formats a double with the fewest digits that read back as the same value. Like the reference implementation, uses no
/// exponent from 1e-4 to below 1e21 (`123.456`, `-0.0045`, `1e+21`).
enum DoubleText {
    static func text(of value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Infinity" : "Infinity" }
        let sign = value.sign == .minus ? "-" : ""
        let (digits, exponent) = decimal(value.magnitude)
        if exponent < -4 || exponent >= 21 {
            let fraction = digits.count > 1 ? "." + digits.dropFirst() : ""
            let magnitude = String(exponent.magnitude)
            let padded = magnitude.count < 2 ? "0" + magnitude : magnitude
            return sign + digits.prefix(1) + fraction + "e" + (exponent < 0 ? "-" : "+") + padded
        }
        if exponent < 0 { return sign + "0." + String(repeating: "0", count: -exponent - 1) + digits }
        let wholeCount = exponent + 1
        if digits.count <= wholeCount {
            return sign + digits + String(repeating: "0", count: wholeCount - digits.count)
        }
        return sign + digits.prefix(wholeCount) + "." + digits.dropFirst(wholeCount)
    }

    /// Returns the shortest digits without zeros at either end, and the decimal exponent of the first digit.
    private static func decimal(_ value: Double) -> (digits: String, exponent: Int) {
        if value == 0 { return ("0", 0) }
        let parts = value.description.split(separator: "e")
        let mantissa = parts[0].split(separator: ".")
        let whole = mantissa[0]
        let fraction = mantissa.count > 1 ? mantissa[1] : ""
        let all = String(whole + fraction)
        let leadingZeros = all.prefix { $0 == "0" }.count
        var digits = String(all.dropFirst(leadingZeros))
        while digits.hasSuffix("0") { digits.removeLast() }
        let written = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
        return (digits, written + whole.count - 1 - leadingZeros)
    }
}
