/// Forms the plural of a camelCase noun as Data Connect does: `novelMaker` → `novelMakers`, `writtenBy` →
/// `writtenBies`.
///
/// Apps' operations contain these names, so exactly Data Connect's endings are implemented, even where English differs:
/// `hero` → `heros`, `leaf` → `leafs`, `human` → `humen`. A plural never equals its singular, so that a row and a list
/// have different names: `novelMetadata` → `novelMetadatas`, `mailSettings` → `mailSettingss`, `fish` → `fishs`.
package enum EnglishPlural {
    package static func of(_ name: String) -> String {
        for ending in endings {
            if let plural = ending.capitals.plural(of: name, comparedAs: name) { return plural }
            if let plural = ending.plural(of: name, comparedAs: name) { return plural }
            if let plural = ending.plural(of: name, comparedAs: name.lowercased()) { return plural }
        }
        // `platformB` → `platformBS`
        return name + (name.last?.isUppercase == true ? "S" : "s")
    }

    /// The rules, of which the first match applies. `.words(["x", "ch", "ss", "sh"])` with an empty ending corresponds
    /// to the regular expression `(x|ch|ss|sh)$`.
    private static let endings = [
        Ending(.words(["p"]), "erson", "eople"),
        Ending(.words(["m"]), "an", "en"),
        Ending(.words(["child"]), "", "ren"),
        Ending(.name(["fish"]), "", "s"),
        Ending(.words(["quiz"]), "", "zes"),
        Ending(.name(["ox"]), "", "en"),
        Ending(.name(["m", "l"]), "ouse", "ice"),
        Ending(.words(["matr", "vert", "ind"]), "ix", "ices"),
        Ending(.words(["matr", "vert", "ind"]), "ex", "ices"),
        Ending(.words(["x", "ch", "ss", "sh"]), "", "es"),
        Ending(.words(["qu"]), "y", "ies"),
        Ending(.letter(notIn: "aeiouy"), "y", "ies"),
        Ending(.letter(notIn: "f"), "fe", "ves"),
        Ending(.words(["l", "r"]), "f", "ves"),
        Ending(.words([""]), "sis", "ses"),
        Ending(.words(["t", "i"]), "um", "a"),
        Ending(.words(["buffal", "tomat"]), "o", "oes"),
        Ending(.words(["bus", "alias", "status"]), "", "es"),
        Ending(.words(["octop", "vir"]), "us", "i"),
        Ending(.name(["ax", "test"]), "is", "es"),
    ]

    private struct Ending {
        /// The condition on the text before the ending, which is kept.
        enum Before {
            case words([String])
            /// The whole name except the ending.
            case name([String])
            case letter(notIn: String)
        }

        let before: Before
        let ending: String
        let replacement: String

        init(_ before: Before, _ ending: String, _ replacement: String) {
            self.before = before
            self.ending = ending
            self.replacement = replacement
        }

        var capitals: Ending {
            let before: Before =
                switch before {
                case .words(let words): .words(words.map { $0.uppercased() })
                case .name(let names): .name(names.map { $0.uppercased() })
                case .letter(let letters): .letter(notIn: letters.uppercased())
                }
            return Ending(before, ending.uppercased(), replacement.uppercased())
        }

        /// Returns nil if the rule does not match. `compared` is the name or its lower-case form.
        func plural(of name: String, comparedAs compared: String) -> String? {
            guard compared.hasSuffix(ending) else { return nil }
            let head = compared.dropLast(ending.count)
            let fits =
                switch before {
                case .words(let words): words.contains { head.hasSuffix($0) }
                case .name(let names): names.contains(String(head))
                case .letter(let letters): head.last.map { !letters.contains($0) } ?? false
                }
            return fits ? name.dropLast(ending.count) + replacement : nil
        }
    }
}
