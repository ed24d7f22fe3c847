/// Derives names that the schema does not spell out: SQL names, root fields and relation fields.
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

    /// Returns the name of the column that a reference adds for a field of its target: `movie` and `id` → `movieId`.
    package static func foreignKeyField(reference: String, target: String) -> String {
        reference + capitalized(target)
    }

    /// Returns the name of the target's field for the rows that refer to it, or for the single row if one-to-one.
    package static func inverse(of child: Table, field: String, isSingle: Bool) -> String {
        "\(isSingle ? child.singular : child.plural)_on_\(field)"
    }

    /// Returns the name of a many-to-many field: `actors_via_MovieActor`. A join table whose references both point to
    /// the same type yields two such fields, distinguished by the near reference: `users_via_Friendship_on_user1`.
    package static func manyToMany(to target: Table, via join: Table, startingAt nearField: String?) -> String {
        "\(target.plural)_via_\(join.typeName)" + (nearField.map { "_on_\($0)" } ?? "")
    }

    static func capitalized(_ word: some StringProtocol) -> String {
        word.prefix(1).uppercased() + word.dropFirst()
    }

    /// Splits a camelCase, PascalCase or snake_case name into words. A run of capitals is one word, except that its
    /// last letter begins the next word if a lower-case letter follows. Digits belong to the preceding word.
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
