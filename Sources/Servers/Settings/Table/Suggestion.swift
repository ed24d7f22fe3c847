/// "Did you mean": the nearest known word by edit distance, if it is near enough to be a typing mistake.
enum Suggestion {
    /// Nil if even the nearest word differs in more than a third of its letters.
    static func nearest(to word: String, in known: some Sequence<String>) -> String? {
        let typed = Array(word.lowercased().utf8.prefix(128))
        var best: (word: String, distance: Int)?
        for candidate in known {
            let distance = distance(typed, Array(candidate.lowercased().utf8))
            if distance <= max(1, max(typed.count, candidate.utf8.count) / 3), distance < best?.distance ?? .max {
                best = (candidate, distance)
            }
        }
        return best?.word
    }

    /// Levenshtein distance in which swapping two neighbours is one step.
    static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var beforePrevious: [Int] = []
        var previous = Array(0...right.count)
        for i in 0..<left.count {
            var row = [i + 1]
            row.reserveCapacity(right.count + 1)
            for j in 0..<right.count {
                var cost = min(previous[j + 1] + 1, row[j] + 1, previous[j] + (left[i] == right[j] ? 0 : 1))
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    cost = min(cost, beforePrevious[j - 1] + 1)
                }
                row.append(cost)
            }
            beforePrevious = previous
            previous = row
        }
        return previous[right.count]
    }
}
