/// Suggests names similar to a misspelt one.
///
/// The distance is the number of insertions, deletions, substitutions and transpositions of adjacent letters; names
/// that differ only in letter case have distance 1, a relation's name and its stem, `photos_on_lot` and `photos`, 0. A
/// name is suggested if its distance is at most two fifths of the longer length plus one.
package enum DidYouMean {
    /// Longer names are not compared.
    static let nameLengthMax = 64
    /// Further candidates are ignored.
    static let candidatesMax = 2_000
    static let suggestionsMax = 3

    /// Returns `did you mean "title"?`, or nil if no candidate is similar.
    package static func help(_ name: String, among candidates: some Sequence<String>) -> String? {
        let near = suggestions(name, among: candidates).map { "\"\($0)\"" }
        guard let last = near.last else { return nil }
        let others = near.dropLast().joined(separator: ", ")
        return "did you mean \(others.isEmpty ? last : "\(others) or \(last)")?"
    }

    /// Returns the most similar names, sorted by distance, then alphabetically.
    package static func suggestions(_ name: String, among candidates: some Sequence<String>) -> [String] {
        let typed = Array(name.unicodeScalars)
        guard typed.count <= nameLengthMax else { return [] }
        var found: [(distance: Int, name: String)] = []
        var seen: Set<String> = [name]
        for candidate in candidates.prefix(candidatesMax) where seen.insert(candidate).inserted {
            let scalars = Array(candidate.unicodeScalars)
            guard scalars.count <= nameLengthMax else { continue }
            let limit = max(typed.count, scalars.count) * 2 / 5 + 1
            let differsInCase = name.lowercased() == candidate.lowercased()
            let distance =
                isStem(name, of: candidate) ? 0 : differsInCase ? 1 : distance(typed, scalars, limit: limit)
            if distance <= limit, distance < max(typed.count, scalars.count) { found.append((distance, candidate)) }
        }
        guard let best = found.map(\.distance).min() else { return [] }
        // Much worse candidates would only distract.
        return found.filter { $0.distance <= best + 1 }
            .sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }
            .prefix(suggestionsMax).map(\.name)
    }

    /// Returns whether a name, or its plural, is what stands before `_on_` or `_via_` in a relation's name, or its last
    /// words: `photo` and `photos` are stems of `photos_on_lot` and `lotPhotos_on_lot`.
    private static func isStem(_ name: String, of candidate: String) -> Bool {
        let ends = ["_on_", "_via_"].compactMap { candidate.firstRange(of: $0)?.lowerBound }
        guard let end = ends.min(), let initial = name.first else { return false }
        let stem = candidate[..<end]
        return [name, EnglishPlural.of(name)].contains { word in
            stem.lowercased() == word.lowercased() || stem.hasSuffix(initial.uppercased() + word.dropFirst())
        }
    }

    /// Computes the optimal string alignment distance; returns `limit + 1` if it exceeds `limit`.
    static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar], limit: Int) -> Int {
        guard abs(left.count - right.count) <= limit else { return limit + 1 }
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            current.reserveCapacity(right.count + 1)
            for column in right.indices {
                let replaced = last[column] + (left[row] == right[column] ? 0 : 1)
                var cost = min(last[column + 1] + 1, current[column] + 1, replaced)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    cost = min(cost, beforeLast[column - 1] + 1)
                }
                current.append(cost)
            }
            guard let least = current.min(), least <= limit else { return limit + 1 }
            beforeLast = last
            last = current
        }
        return min(last[right.count], limit + 1)
    }
}
