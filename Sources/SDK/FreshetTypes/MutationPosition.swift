/// A mutation's place among what was committed: a live query shows it once `wait(for:)` has returned.
public struct MutationPosition: Sendable, Hashable, Codable, RawRepresentable {
    /// The header `x-freshet-position` of the answer.
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
}
