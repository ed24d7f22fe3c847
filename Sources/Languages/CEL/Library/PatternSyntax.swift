/// A node of a regular expression's tree.
indirect enum PatternNode: Sendable {
    case empty
    case set(ScalarSet)
    case assertion(PatternAssertion)
    case sequence([PatternNode])
    case alternatives([PatternNode])
    /// `max` is nil if unbounded.
    case repetition(PatternNode, min: Int, max: Int?)
}

/// A condition on a position in the text.
enum PatternAssertion: Sendable {
    case textStart, textEnd, lineStart, lineEnd, wordBoundary, noWordBoundary
}

/// A set of Unicode scalars.
struct ScalarSet: Sendable {
    enum Item: Sendable {
        case range(ClosedRange<UInt32>)
        case category(Set<Unicode.GeneralCategory>)
        case set(ScalarSet)
    }

    var items: [Item] = []
    var isNegated = false
    var ignoresCase = false

    init(_ items: [Item] = [], isNegated: Bool = false) {
        self.items = items
        self.isNegated = isNegated
    }

    init(scalar: Unicode.Scalar, ignoresCase: Bool) {
        items = [.range(scalar.value...scalar.value)]
        self.ignoresCase = ignoresCase
    }

    /// The only member of the set if it has just one, the common case in a pattern; otherwise nil.
    var onlyScalar: UInt32? {
        guard items.count == 1, !isNegated, !ignoresCase, case .range(let range) = items[0],
            range.lowerBound == range.upperBound
        else { return nil }
        return range.lowerBound
    }

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        var isIn = hasItem(for: scalar)
        if ignoresCase, !isIn { isIn = Self.otherCases(of: scalar).contains { hasItem(for: $0) } }
        return isIn != isNegated
    }

    private func hasItem(for scalar: Unicode.Scalar) -> Bool {
        for item in items {
            switch item {
            case .range(let range): if range.contains(scalar.value) { return true }
            case .category(let categories):
                if categories.contains(scalar.properties.generalCategory) { return true }
            case .set(let set): if set.contains(scalar) { return true }
            }
        }
        return false
    }

    private static func otherCases(of scalar: Unicode.Scalar) -> [Unicode.Scalar] {
        if scalar.isASCII, scalar.value | 0x20 < 0x61 || scalar.value | 0x20 > 0x7A { return [] }
        let properties = scalar.properties
        let mapped = [properties.lowercaseMapping, properties.uppercaseMapping].filter { $0.unicodeScalars.count == 1 }
        return mapped.compactMap(\.unicodeScalars.first)
    }
}

// Named sets
extension ScalarSet {
    private static func ascii(_ ranges: [ClosedRange<Unicode.Scalar>]) -> ScalarSet {
        ScalarSet(ranges.map { .range($0.lowerBound.value...$0.upperBound.value) })
    }

    static let newline = ascii(["\n"..."\n"])
    static let digit = ascii(["0"..."9"])
    static let word = ascii(["0"..."9", "A"..."Z", "_"..."_", "a"..."z"])
    static let space = ascii(["\t"..."\n", "\u{0C}"..."\r", " "..." "])

    /// The classes written between `[:` and `:]`.
    static let posix: [String: ScalarSet] = [
        "alnum": ascii(["0"..."9", "A"..."Z", "a"..."z"]), "alpha": ascii(["A"..."Z", "a"..."z"]),
        "ascii": ascii(["\0"..."\u{7F}"]), "blank": ascii(["\t"..."\t", " "..." "]),
        "cntrl": ascii(["\0"..."\u{1F}", "\u{7F}"..."\u{7F}"]), "digit": digit, "graph": ascii(["!"..."~"]),
        "lower": ascii(["a"..."z"]), "print": ascii([" "..."~"]),
        "punct": ascii(["!"..."/", ":"..."@", "["..."`", "{"..."~"]), "space": ascii(["\t"..."\r", " "..." "]),
        "upper": ascii(["A"..."Z"]), "word": word, "xdigit": ascii(["0"..."9", "A"..."F", "a"..."f"]),
    ]

    /// The general categories written as `\p{…}`; scripts are not supported.
    static let categories: [String: Set<Unicode.GeneralCategory>] = {
        let single: [String: Unicode.GeneralCategory] = [
            "Lu": .uppercaseLetter, "Ll": .lowercaseLetter, "Lt": .titlecaseLetter, "Lm": .modifierLetter,
            "Lo": .otherLetter, "Mn": .nonspacingMark, "Mc": .spacingMark, "Me": .enclosingMark, "Nd": .decimalNumber,
            "Nl": .letterNumber, "No": .otherNumber, "Pc": .connectorPunctuation, "Pd": .dashPunctuation,
            "Ps": .openPunctuation, "Pe": .closePunctuation, "Pi": .initialPunctuation, "Pf": .finalPunctuation,
            "Po": .otherPunctuation, "Sm": .mathSymbol, "Sc": .currencySymbol, "Sk": .modifierSymbol,
            "So": .otherSymbol, "Zs": .spaceSeparator, "Zl": .lineSeparator, "Zp": .paragraphSeparator,
            "Cc": .control, "Cf": .format, "Cs": .surrogate, "Co": .privateUse,
        ]
        var table: [String: Set<Unicode.GeneralCategory>] = [:]
        for (name, category) in single {
            table[name] = [category]
            table[String(name.prefix(1)), default: []].insert(category)
        }
        return table
    }()
}
