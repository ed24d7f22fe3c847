/// Counts mutations in progress by the generation of the catalogs under which each began, so that a node reports a
/// generation only once it applies to all of them.
///
/// A generation is the greatest deployment id up to which every deployment is loaded. No refresh is missed while nodes
/// differ: a version is announced first, and no request gets it before every node has reached its generation. From then
/// on, every mutation that ends is published by the rules of that version, too, including those that began earlier.
package struct ServedGenerations: Sendable {
    package private(set) var current: Int64
    /// The number of mutations begun under each generation. Bound: mutations in flight.
    private var underWay: [Int64: Int] = [:]

    package init(_ generation: Int64) { current = generation }

    /// Returns the generation under which the mutation that begins now is published. `ended` must follow.
    package mutating func began() -> Int64 {
        underWay[current, default: 0] += 1
        return current
    }

    package mutating func ended(_ generation: Int64) {
        guard let count = underWay[generation] else {
            preconditionFailure("a mutation of generation \(generation) ended; in progress: \(underWay)")
        }
        underWay[generation] = count > 1 ? count - 1 : nil
    }

    package mutating func replaced(_ generation: Int64) { current = generation }

    /// The oldest generation under which a mutation in progress began; the current one without any.
    package var reached: Int64 { min(current, underWay.keys.min() ?? .max) }
}
