extension FixedWidthInteger where Self: UnsignedInteger {
    /// All digits of the number in lower-case hexadecimal, with leading zeros.
    package var allHexDigits: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: Self.bitWidth / 4 - digits.utf8.count) + digits
    }
}
