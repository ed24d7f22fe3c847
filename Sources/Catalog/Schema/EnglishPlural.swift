/// The plural of a camelCase noun, by its last word: `movieActor` → `movieActors`, `directedBy` → `directedBies`.
///
/// In this order: words without a plural, irregular words, then by ending
///
/// | ending | plural | |
/// | --- | --- | --- |
/// | consonant + y | ies | categories |
/// | sis | ses | analyses |
/// | s, x, z, ch, sh | es | statuses, boxes, matches |
/// | fe, and f of a known list | ves | knives, shelves |
/// | o of a known list | oes | heroes |
/// | anything else | s | movies |
///
/// A word without a plural (`series`) gives itself; the compiler then asks for `@table(plural:)`.
package enum EnglishPlural {
    package static func of(_ name: String) -> String {
        let words = GeneratedNames.words(name)
        guard let last = words.last else { return name }
        let head = name.dropLast(last.count)
        let plural = lowercasePlural(last.lowercased())
        return head + (last.first?.isUppercase == true ? GeneratedNames.capitalized(plural) : plural)
    }

    private static func lowercasePlural(_ word: String) -> String {
        if uncountable.contains(word) { return word }
        if let plural = irregular[word] { return plural }
        // `woman`, `postman`; but `human` and `german` are regular.
        if word.hasSuffix("man"), !["human", "german", "roman", "talisman", "shaman"].contains(word) {
            return word.dropLast(3) + "men"
        }
        if word.hasSuffix("y"), let before = word.dropLast().last, !"aeiou".contains(before) {
            return word.dropLast() + "ies"
        }
        if word.hasSuffix("sis") { return word.dropLast(2) + "es" }
        if ["s", "x", "z", "ch", "sh"].contains(where: word.hasSuffix) { return word + "es" }
        if word.hasSuffix("fe"), word != "safe" { return word.dropLast(2) + "ves" }
        if takesVes.contains(word) { return word.dropLast() + "ves" }
        if takesOes.contains(word) { return word + "es" }
        return word + "s"
    }

    private static let uncountable: Set<String> = [
        "aircraft", "deer", "equipment", "fish", "information", "money", "news", "police", "rice", "series", "sheep",
        "software", "species",
    ]

    private static let irregular: [String: String] = [
        "child": "children", "criterion": "criteria", "datum": "data", "foot": "feet", "goose": "geese",
        "index": "indices", "matrix": "matrices", "medium": "media", "mouse": "mice", "ox": "oxen",
        "person": "people", "phenomenon": "phenomena", "quiz": "quizzes", "tooth": "teeth", "vertex": "vertices",
    ]

    private static let takesVes: Set<String> = [
        "calf", "elf", "half", "leaf", "loaf", "scarf", "self", "shelf", "thief", "wolf",
    ]

    private static let takesOes: Set<String> = ["echo", "hero", "potato", "tomato", "veto"]
}
