/// Names that the schema does not spell out: SQL names, root fields, relation fields.
///
/// Source: docs/reference/sql-connect.md §5.2 and §5.4 (`release_year`, `movies`, `directedBies_on_movie`,
/// `reviews_on_movie`, `actors_via_MovieActor`).
package enum GeneratedNames {
    /// `releaseYear` → `release_year`, `imageURL` → `image_url`, `TVShow` → `tv_show`.
    package static func snakeCase(_ name: String) -> String {
        words(name).map { $0.lowercased() }.joined(separator: "_")
    }

    /// `MovieActor` → `movieActor`, `TVShow` → `tvShow`.
    package static func camelCase(_ name: String) -> String {
        let words = words(name)
        guard let first = words.first else { return name }
        return first.lowercased() + words.dropFirst().map(capitalized).joined()
    }

    /// The column a reference adds for one field of what it points to: `movie` and `id` → `movieId`.
    package static func foreignKeyField(reference: String, target: String) -> String {
        reference + capitalized(target)
    }

    /// The field of the target that lists, or for one-to-one shows, the rows that refer to it.
    package static func inverse(of child: Table, field: String, isSingle: Bool) -> String {
        "\(isSingle ? child.singular : child.plural)_on_\(field)"
    }

    /// `actors_via_MovieActor`. A join table whose two references point to the same type gets two such fields, told
    /// apart by the reference one starts from: `users_via_Friendship_on_user1`.
    package static func manyToMany(to target: Table, via join: Table, startingAt nearField: String?) -> String {
        "\(target.plural)_via_\(join.typeName)" + (nearField.map { "_on_\($0)" } ?? "")
    }

    static func capitalized(_ word: some StringProtocol) -> String {
        word.prefix(1).uppercased() + word.dropFirst()
    }

    /// Words of a camelCase, PascalCase or snake_case name. A run of capitals is one word, except that its last
    /// letter begins the next word if a small letter follows. Digits belong to the word before them.
    static func words(_ name: String) -> [String] {
        var words: [String] = []
        var current = ""
        let letters = Array(name)
        for (index, letter) in letters.enumerated() {
            if letter == "_" {
                if !current.isEmpty { words.append(current) }
                current = ""
                continue
            }
            if letter.isUppercase, let last = current.last {
                let nextIsSmall = index + 1 < letters.count && letters[index + 1].isLowercase
                if !last.isUppercase || nextIsSmall {
                    words.append(current)
                    current = ""
                }
            }
            current.append(letter)
        }
        if !current.isEmpty { words.append(current) }
        return words
    }
}
