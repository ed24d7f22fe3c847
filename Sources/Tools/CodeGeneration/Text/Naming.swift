/// Forms the names of generated code from those of the project.
enum Naming {
    /// `get_movie`, `getMovie`, `get-movie` → `GetMovie`: what is no letter or digit divides words; their letters stay.
    static func pascal(_ name: String) -> String {
        name.split { !$0.isLetter && !$0.isNumber }.map { upperFirst(String($0)) }.joined()
    }

    /// `GetMovie` → `getMovie`.
    static func camel(_ name: String) -> String { lowerFirst(pascal(name)) }

    static func upperFirst(_ name: String) -> String { name.prefix(1).uppercased() + name.dropFirst() }
    static func lowerFirst(_ name: String) -> String { name.prefix(1).lowercased() + name.dropFirst() }

    /// Returns a name that is not in `taken`, with digits appended where needed, and adds it.
    static func unique(_ name: String, _ taken: inout Set<String>) -> String {
        if taken.insert(name).inserted { return name }
        var number = 2
        while !taken.insert("\(name)\(number)").inserted { number += 1 }
        return "\(name)\(number)"
    }
}
