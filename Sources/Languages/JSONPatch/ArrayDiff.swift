/// How one array becomes another: which elements go, which come, which only change place, and which are looked into.
///
/// Elements are told apart by a key: of objects the member that names each one in both arrays (an `id`), else the whole
/// content, counted where it stands several times. The longest run of keys that keep their order stays where it is; the
/// others are moved. Source of the longest run: Fredman's patience sorting, O(n log n).
struct ArrayDiff {
    enum Step: Equatable {
        /// From the last to the first, before everything else.
        case remove(at: Int)
        /// Taken out at `from`, then put in at `to`.
        case move(from: Int, to: Int)
        /// - Parameter element: of the new array.
        case add(at: Int, element: Int)
    }

    /// In the order in which they are applied.
    private(set) var steps: [Step] = []
    /// Elements with the same key, by their places in both arrays; the new place is that after all steps.
    private(set) var pairs: [(old: Int, new: Int)] = []

    /// Bound of the work of finding places, which is the product of elements and moved ones.
    static let workMax = 1_000_000

    /// Keys are unique within each array. Nil: more work than it is worth.
    init?(old: [AnyHashable], new: [AnyHashable]) {
        let newPlaces = Dictionary(uniqueKeysWithValues: new.enumerated().map { ($1, $0) })
        var work: [Int] = []
        var oldPlaces: [Int: Int] = [:]
        for (place, key) in old.enumerated() {
            guard let target = newPlaces[key] else { continue }
            work.append(target)
            oldPlaces[target] = place
        }
        for place in old.indices.reversed() where newPlaces[old[place]] == nil { steps.append(.remove(at: place)) }
        let staying = Self.longestIncreasing(work)
        guard new.count * (new.count - staying.count) <= Self.workMax else { return nil }
        for target in new.indices {
            if let place = oldPlaces[target] { pairs.append((place, target)) }
            if staying.contains(target) { continue }
            // Everything that stands before it in the new array is in its place by now.
            let from = work.firstIndex(of: target)
            if let from { work.remove(at: from) }
            let place = target == 0 ? 0 : (work.firstIndex(of: target - 1) ?? -1) + 1
            work.insert(target, at: place)
            if let from {
                if from != place { steps.append(.move(from: from, to: place)) }
            } else {
                steps.append(.add(at: place, element: target))
            }
        }
    }

    /// The values of a longest increasing run.
    static func longestIncreasing(_ values: [Int]) -> Set<Int> {
        var ends: [Int] = []
        var before = [Int](repeating: -1, count: values.count)
        for (index, value) in values.enumerated() {
            var (low, high) = (0, ends.count)
            while low < high {
                let middle = (low + high) / 2
                if values[ends[middle]] < value { low = middle + 1 } else { high = middle }
            }
            before[index] = low > 0 ? ends[low - 1] : -1
            if low == ends.count { ends.append(index) } else { ends[low] = index }
        }
        var run: Set<Int> = []
        var index = ends.last ?? -1
        while index >= 0 {
            run.insert(values[index])
            index = before[index]
        }
        return run
    }
}
