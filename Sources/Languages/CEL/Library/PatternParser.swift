/// Parses RE2 syntax, which defines `matches`: no look-around and no back references, so that matching takes linear
/// time.
struct PatternParser {
    let scalars: [Unicode.Scalar]
    var position = 0
    var nesting = 0
    var flags = Flags()

    struct Flags {
        var ignoresCase = false
        var isMultiline = false
        var dotMatchesNewline = false
    }

    static let nestingMax = 100
    static let countMax = 1000

    static func parse(_ text: String) throws(Pattern.Problem) -> PatternNode {
        var parser = PatternParser(scalars: Array(text.unicodeScalars))
        let node = try parser.parseAlternatives()
        guard parser.position == parser.scalars.count else { throw Pattern.Problem("unexpected ')'") }
        return node
    }

    private init(scalars: [Unicode.Scalar]) {
        self.scalars = scalars
    }

    func peek(_ offset: Int = 0) -> Unicode.Scalar? {
        position + offset < scalars.count ? scalars[position + offset] : nil
    }

    mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard peek() == scalar else { return false }
        position += 1
        return true
    }

    mutating func take(_ text: String) -> Bool {
        guard scalars[position...].starts(with: text.unicodeScalars) else { return false }
        position += text.unicodeScalars.count
        return true
    }

    mutating func next(orFail reason: String) throws(Pattern.Problem) -> Unicode.Scalar {
        guard let scalar = peek() else { throw Pattern.Problem(reason) }
        position += 1
        return scalar
    }

    // MARK: Structure

    mutating func parseAlternatives() throws(Pattern.Problem) -> PatternNode {
        nesting += 1
        defer { nesting -= 1 }
        guard nesting <= Self.nestingMax else { throw Pattern.Problem("nested too deeply") }
        // Flags set inside a group end with it.
        let outerFlags = flags
        defer { flags = outerFlags }
        var alternatives = [try parseSequence()]
        while take("|" as Unicode.Scalar) { alternatives.append(try parseSequence()) }
        return alternatives.count == 1 ? alternatives[0] : .alternatives(alternatives)
    }

    mutating func parseSequence() throws(Pattern.Problem) -> PatternNode {
        var parts: [PatternNode] = []
        while let scalar = peek(), scalar != "|", scalar != ")" {
            if take("\\Q") {
                while peek() != nil, !take("\\E") {
                    parts.append(literal(scalars[position]))
                    position += 1
                }
                continue
            }
            let atom = try parseAtom()
            parts.append(try parseRepetition(of: atom))
        }
        return parts.count == 1 ? parts[0] : .sequence(parts)
    }

    mutating func parseRepetition(of atom: PatternNode) throws(Pattern.Problem) -> PatternNode {
        guard let (min, max) = try takeCount() else { return atom }
        // Greediness does not affect whether there is a match.
        _ = take("?" as Unicode.Scalar)
        let end = position
        if try takeCount() != nil {
            position = end
            throw Pattern.Problem("repetition of a repetition")
        }
        return .repetition(atom, min: min, max: max)
    }

    mutating func takeCount() throws(Pattern.Problem) -> (min: Int, max: Int?)? {
        if take("*" as Unicode.Scalar) { return (0, nil) }
        if take("+" as Unicode.Scalar) { return (1, nil) }
        if take("?" as Unicode.Scalar) { return (0, 1) }
        guard peek() == "{" else { return nil }
        let start = position
        position += 1
        guard let min = takeNumber() else {
            position = start
            return nil
        }
        var max: Int? = min
        if take("," as Unicode.Scalar) { max = takeNumber() }
        guard take("}" as Unicode.Scalar) else {
            position = start
            return nil
        }
        guard min <= Self.countMax, max ?? 0 <= Self.countMax, max.map({ min <= $0 }) ?? true else {
            throw Pattern.Problem("repetition count out of range")
        }
        return (min, max)
    }

    mutating func takeNumber() -> Int? {
        let digits = scalars[position...].prefix { ("0"..."9").contains($0) }
        guard !digits.isEmpty else { return nil }
        position += digits.count
        return digits.count > 6 ? .max : digits.reduce(0) { $0 * 10 + Int($1.value - 0x30) }
    }

    mutating func parseAtom() throws(Pattern.Problem) -> PatternNode {
        let scalar = try next(orFail: "empty")
        switch scalar {
        case "(": return try parseGroup()
        case "[": return .set(try parseClass())
        case ".":
            return .set(
                flags.dotMatchesNewline ? ScalarSet(isNegated: true) : ScalarSet([.set(.newline)], isNegated: true))
        case "^": return .assertion(flags.isMultiline ? .lineStart : .textStart)
        case "$": return .assertion(flags.isMultiline ? .lineEnd : .textEnd)
        case "\\": return try parseEscape()
        case "*", "+", "?": throw Pattern.Problem("nothing to repeat")
        case "{":
            position -= 1
            if try takeCount() != nil { throw Pattern.Problem("nothing to repeat") }
            position += 1
            return literal(scalar)
        default: return literal(scalar)
        }
    }

    func literal(_ scalar: Unicode.Scalar) -> PatternNode {
        .set(ScalarSet(scalar: scalar, ignoresCase: flags.ignoresCase))
    }

    mutating func parseGroup() throws(Pattern.Problem) -> PatternNode {
        let outerFlags = flags
        if take("?" as Unicode.Scalar) {
            if take("P<") || (peek() == "<" && peek(1) != "=" && peek(1) != "!" && take("<")) {
                try skipName()
            } else if try parseFlags() {
                // Flags without a body apply until the end of the enclosing group.
                return .empty
            }
        }
        let node = try parseAlternatives()
        guard take(")" as Unicode.Scalar) else { throw Pattern.Problem("missing ')'") }
        flags = outerFlags
        return node
    }

    mutating func skipName() throws(Pattern.Problem) {
        let name = scalars[position...].prefix { ScalarSet.word.contains($0) }
        position += name.count
        guard !name.isEmpty, take(">" as Unicode.Scalar) else { throw Pattern.Problem("malformed group name") }
    }

    /// Parses `i`, `m`, `s`, `U`, with a minus to unset. Returns true if `)` ends them, false if `:` begins a group.
    mutating func parseFlags() throws(Pattern.Problem) -> Bool {
        var isSet = true
        while true {
            switch try next(orFail: "missing ')'") {
            case "i": flags.ignoresCase = isSet
            case "m": flags.isMultiline = isSet
            case "s": flags.dotMatchesNewline = isSet
            case "U": break
            case "-" where isSet: isSet = false
            case ":": return false
            case ")": return true
            default: throw Pattern.Problem("unknown group or flag")
            }
        }
    }
}
