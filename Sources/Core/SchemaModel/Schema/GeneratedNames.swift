/// Derives names that the schema does not spell out: SQL names, root fields and relation fields.
///
/// Source: docs/reference/sql-connect.md §5.2 and §5.4 (`highest_bid`, `lots`, `bids_on_lot`,
/// `users_via_Watch`).
package enum GeneratedNames {
    /// Converts a name to snake case: `highestBid` → `highest_bid`, `imageURL` → `image_url`, `TVShow` → `tv_show`.
    package static func snakeCase(_ name: String) -> String {
        words(name).map { $0.lowercased() }.joined(separator: "_")
    }

    /// Returns the name of a single row of a type: the type's name with its first letter lowered and nothing else, as
    /// Data Connect forms it: `LotImage` → `lotImage`, `SEO` → `sEO`, `Lot_Image` → `lot_Image`.
    package static func singular(ofType name: String) -> String {
        name.prefix(1).lowercased() + name.dropFirst()
    }

    /// Returns the column that a reference adds for one field of its target: `lot` and `id` → `lotId`.
    package static func foreignKeyField(reference: String, target: String) -> String {
        reference + capitalized(target)
    }

    /// Returns the target's field for the rows that refer to it, a list or, if one-to-one, a single row.
    package static func inverse(of child: Table, field: String, isSingle: Bool) -> String {
        "\(isSingle ? child.singular : child.plural)_on_\(field)"
    }

    /// Returns the field of a many-to-many relation, such as `users_via_Watch`. A join table whose two references point
    /// to the same type gets two such fields, distinguished by the near reference: `users_via_Friendship_on_user1`.
    package static func manyToMany(to target: Table, via join: Table, startingAt nearField: String?) -> String {
        "\(target.plural)_via_\(join.typeName)" + (nearField.map { "_on_\($0)" } ?? "")
    }

    static func capitalized(_ word: some StringProtocol) -> String {
        word.prefix(1).uppercased() + word.dropFirst()
    }

    /// Splits a camelCase, PascalCase or snake_case name into words. A run of capitals is one word, except that its
    /// last letter begins the next word if a small letter follows. Digits belong to the preceding word.
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
