package import GraphQLLanguage

/// How an operation is to be run.
package enum StartMode: Sendable, Hashable {
    /// A query is followed unless its text calls it `query`; a mutation is run once.
    case byText
    /// Follow a query; a mutation is an error.
    case follow
    /// Run a query or mutation once.
    case once

    /// Returns whether an operation is followed rather than run once. A mutation never is.
    /// - Parameters:
    ///   - isQuery: whether the stored operation is a query.
    ///   - wanted: the operation kind in the client's text; nil without a text.
    ///   - prefersStream: whether the client takes a stream for a query whose kind it does not name. Protocols whose
    ///     results are messages always do.
    package func isFollowed(isQuery: Bool, wanted: OperationKind?, prefersStream: Bool = true) -> Bool {
        guard isQuery else { return false }
        switch (self, wanted) {
        case (.follow, _), (.byText, .subscription?): return true
        case (.once, _), (.byText, .query?), (.byText, .mutation?): return false
        case (.byText, nil): return prefersStream
        }
    }
}
