import LiveModel

/// The answers to requests that need a role which this node does not have.
extension RequestError {
    static let servesNoLiveQueries = Self(.notFound, "this node serves no live queries (role gateway)")
    static let runsNoMutations = Self(.notFound, "this node runs no mutations (role api)")
    static let runsNoOperations = Self(.notFound, "this node runs no operations (role api)")
}
