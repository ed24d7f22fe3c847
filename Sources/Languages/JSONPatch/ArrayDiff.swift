/// The steps that turn one array into another: removals, moves and insertions, and the pairs of elements to compare
/// further.
///
/// Elements are identified by a key: the member that identifies objects in both arrays (such as `id`), or else the
/// whole content with an occurrence number. The longest increasing subsequence of common keys stays in place; the other
/// elements are moved. It is found by patience sorting (Fredman) in O(n log n).
struct ArrayDiff {
    enum Step: Equatable {
        /// Removals come first, from the last index to the first.
        case remove(at: Int)
        /// Removes the element at `from`, then inserts it at `to`.
        case move(from: Int, to: Int)
        /// - Parameter element: index in the new array.
        case add(at: Int, element: Int)
    }

    /// The steps in order of application.
    private(set) var steps: [Step] = []
    /// Indices of elements with equal keys in the old array and in the new one, that is, after all steps.
    private(set) var pairs: [(old: Int, new: Int)] = []

    /// Limit on the number of elements times the number of moves and insertions, to which the work is proportional.
    static let workMax = 1_000_000

    /// Keys must be unique within each array. Returns nil if the work would exceed `workMax`.
    init?(old: [AnyHashable], new: [AnyHashable]) {
        let newIndices = Dictionary(uniqueKeysWithValues: new.enumerated().map { ($1, $0) })
        var order: [Int] = []
        var oldIndices: [Int: Int] = [:]
        for (index, key) in old.enumerated() {
            guard let target = newIndices[key] else { continue }
            order.append(target)
            oldIndices[target] = index
        }
        for index in old.indices.reversed() where newIndices[old[index]] == nil { steps.append(.remove(at: index)) }
        let staying = Self.longestIncreasing(order)
        guard new.count * (new.count - staying.count) <= Self.workMax else { return nil }
        for target in new.indices {
            if let index = oldIndices[target] { pairs.append((index, target)) }
            if staying.contains(target) { continue }
            // All its predecessors in the new array are already in position.
            let from = order.firstIndex(of: target)
            if let from { order.remove(at: from) }
            let index = target == 0 ? 0 : (order.firstIndex(of: target - 1) ?? -1) + 1
            order.insert(target, at: index)
            if let from {
                if from != index { steps.append(.move(from: from, to: index)) }
            } else {
                steps.append(.add(at: index, element: target))
            }
        }
    }

    /// Returns the values of a longest increasing subsequence.
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
