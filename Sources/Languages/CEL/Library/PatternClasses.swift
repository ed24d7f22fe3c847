/// Escape sequences and character classes.
extension PatternParser {
    mutating func parseEscape() throws(Pattern.Problem) -> PatternNode {
        switch peek() {
        case "A": return assertion(.textStart)
        case "z": return assertion(.textEnd)
        case "b": return assertion(.wordBoundary)
        case "B": return assertion(.noWordBoundary)
        default:
            if let set = try takeNamedSet() { return .set(set) }
            return literal(try parseEscapedScalar())
        }
    }

    mutating func assertion(_ assertion: PatternAssertion) -> PatternNode {
        position += 1
        return .assertion(assertion)
    }

    /// Parses a named set after a backslash, such as `d` or `pL`.
    mutating func takeNamedSet() throws(Pattern.Problem) -> ScalarSet? {
        guard let letter = peek() else { return nil }
        let named: ScalarSet
        switch letter {
        case "d", "D": named = .digit
        case "w", "W": named = .word
        case "s", "S": named = .space
        case "p", "P":
            position += 1
            return try parseCategory(isNegated: letter == "P")
        default: return nil
        }
        position += 1
        return letter.properties.isUppercase ? ScalarSet([.set(named)], isNegated: true) : named
    }

    mutating func parseCategory(isNegated: Bool) throws(Pattern.Problem) -> ScalarSet {
        var isNegated = isNegated
        var name = ""
        if take("{" as Unicode.Scalar) {
            if take("^" as Unicode.Scalar) { isNegated.toggle() }
            while let scalar = peek(), scalar != "}" {
                name.unicodeScalars.append(scalar)
                position += 1
            }
            guard take("}" as Unicode.Scalar) else { throw Pattern.Problem("missing '}'") }
        } else {
            name.unicodeScalars.append(try next(orFail: "missing category"))
        }
        if name == "Any" { return ScalarSet(isNegated: !isNegated) }
        guard let categories = ScalarSet.categories[name] else { throw Pattern.Problem("unknown category") }
        return ScalarSet([.category(categories)], isNegated: isNegated)
    }

    /// Parses one escaped scalar after a backslash.
    mutating func parseEscapedScalar() throws(Pattern.Problem) -> Unicode.Scalar {
        let scalar = try next(orFail: "closing backslash")
        switch scalar {
        case "a": return "\u{07}"
        case "f": return "\u{0C}"
        case "t": return "\t"
        case "n": return "\n"
        case "r": return "\r"
        case "v": return "\u{0B}"
        case "x": return try parseHex()
        case "0"..."7":
            // A single digit other than 0 would be a back reference.
            let digits = scalars[(position - 1)...].prefix(3).prefix { ("0"..."7").contains($0) }
            guard scalar == "0" || digits.count > 1 else { throw Pattern.Problem("back reference") }
            position += digits.count - 1
            return try self.scalar(digits.reduce(0) { $0 * 8 + $1.value - 0x30 })
        default:
            guard scalar.isASCII, !ScalarSet.word.contains(scalar) || scalar == "_" else {
                throw Pattern.Problem("unknown escape")
            }
            return scalar
        }
    }

    mutating func parseHex() throws(Pattern.Problem) -> Unicode.Scalar {
        let isBraced = take("{" as Unicode.Scalar)
        let digits = scalars[position...].prefix(isBraced ? 8 : 2).prefix { $0.properties.isASCIIHexDigit }
        guard isBraced ? !digits.isEmpty : digits.count == 2,
            let code = UInt32(String(String.UnicodeScalarView(digits)), radix: 16)
        else { throw Pattern.Problem("malformed escape") }
        position += digits.count
        if isBraced, !take("}" as Unicode.Scalar) { throw Pattern.Problem("malformed escape") }
        return try scalar(code)
    }

    func scalar(_ code: UInt32) throws(Pattern.Problem) -> Unicode.Scalar {
        guard let scalar = Unicode.Scalar(code) else { throw Pattern.Problem("escape is not a code point") }
        return scalar
    }

    /// Parses a character class after its opening bracket.
    mutating func parseClass() throws(Pattern.Problem) -> ScalarSet {
        var set = ScalarSet()
        set.ignoresCase = flags.ignoresCase
        set.isNegated = take("^" as Unicode.Scalar)
        var isFirst = true
        while isFirst || peek() != "]" {
            isFirst = false
            guard peek() != nil else { throw Pattern.Problem("missing ']'") }
            if take("[:") {
                set.items.append(.set(try parsePosix()))
                continue
            }
            if peek() == "\\" {
                position += 1
                if let named = try takeNamedSet() {
                    set.items.append(.set(named))
                    continue
                }
                position -= 1
            }
            let low = try parseClassScalar()
            var high = low
            if peek() == "-", let after = peek(1), after != "]" {
                position += 1
                high = try parseClassScalar()
            }
            guard low.value <= high.value else { throw Pattern.Problem("range out of order") }
            set.items.append(.range(low.value...high.value))
        }
        position += 1
        return set
    }

    mutating func parseClassScalar() throws(Pattern.Problem) -> Unicode.Scalar {
        take("\\" as Unicode.Scalar) ? try parseEscapedScalar() : try next(orFail: "missing ']'")
    }

    mutating func parsePosix() throws(Pattern.Problem) -> ScalarSet {
        let isNegated = take("^" as Unicode.Scalar)
        let name = scalars[position...].prefix { ("a"..."z").contains($0) }
        position += name.count
        guard let named = ScalarSet.posix[String(String.UnicodeScalarView(name))], take(":]") else {
            throw Pattern.Problem("unknown character class")
        }
        return isNegated ? ScalarSet([.set(named)], isNegated: true) : named
    }
}
