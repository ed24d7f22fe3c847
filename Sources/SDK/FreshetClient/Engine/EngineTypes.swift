import Foundation
package import FreshetStore
package import FreshetTypes
package import JSON

/// A query without its types.
package struct StoredQuery: Sendable {
    package let key: ResultKey
    package let variables: JSONObject
    package let entities: EntityShape
    package let revision: String

    package init<Operation: QueryOperation>(_ operation: Operation.Type, _ variables: Operation.Variables) {
        self.variables = variables.object
        key = ResultKey(
            operation: Operation.name, variables: Operation.Variables.canonicalText(self.variables))
        entities = Operation.entities
        revision = Operation.revision
    }
}

/// The state of a live query, as its subscribers see it.
package struct FeedSnapshot: Sendable, Hashable {
    package var document: JSONValue?
    package var source = ResultSource.cache
    /// When the server sent the result, in milliseconds since 1970.
    package var fetchedAtMs: Int64?
    /// Whether the server would tell of a newer result.
    package var isConfirmed = false
    /// Since when it is not confirmed, in milliseconds since 1970.
    package var staleSinceMs: Int64?
    /// Why.
    package var error: FreshetError?
    /// Errors beside partial data.
    package var errors: [ResponseError] = []
    /// Whether mutations of the user wait in the queue, or were applied and may not be shown yet.
    package var hasPendingMutations = false
}

package enum FeedEvent: Sendable {
    case snapshot(FeedSnapshot)
    case ended(FreshetError)
}

/// An applied mutation of the queue that live queries may not show yet.
struct MutationWait: Sendable {
    let mutation: String
    let scope: String
    let assumed: AssumedResults
}

/// The results that show what an applied mutation was expected to change.
struct AssumedResults: Sendable {
    var keys: Set<ResultKey> = []
    /// The uses of the store when the mutation was applied.
    var asOf: UInt64 = 0
}

/// The rows and results that a user sees at a time.
package struct ShownRows: Sendable {
    /// The user.
    package let scope: String
    let store: StoreMachine

    /// Nil if no result shows the row.
    package func fields(of id: EntityID) -> JSONObject? { store.fields(of: id) }

    /// Nil if the result is not in memory.
    func document(of query: StoredQuery) -> JSONValue? { store.shown(query.key, revision: query.revision) }
}

/// The user of a token, and when a newer token is due.
struct Identity: Sendable, Hashable {
    let token: String?
    /// Separates the data of users; "" of nobody.
    let scope: String
    /// The end of the token, in milliseconds since 1970.
    let expiresAtMs: Int64?

    /// - Parameter user: the user as the app says; nil: read the token.
    init(token: String?, user: String?) {
        self.token = token
        let claims = token.flatMap(Self.claims)
        expiresAtMs = claims?["exp"]?.doubleValue.flatMap { $0.magnitude < 9e15 ? Int64($0 * 1_000) : nil }
        if let user {
            scope = "user:" + user
        } else if let subject = claims?["sub"]?.stringValue {
            let issuer = claims?["iss"]?.stringValue ?? ""
            scope = "user:" + issuer + " " + subject
        } else if let token {
            // A token that cannot be read is a user of its own.
            scope = "token:" + EntityID(type: "token", key: [.string(token)]).description
        } else {
            scope = ""
        }
    }

    /// The claims of a JSON Web Token, unverified: they only separate what is stored here (RFC 7519).
    private static func claims(_ token: String) -> JSONValue? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var text = parts[1].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        text += String(repeating: "=", count: (4 - text.count % 4) % 4)
        return Data(base64Encoded: text).flatMap { try? JSONParser.parse(Array($0)) }
    }
}

/// An operation that was not answered, or with an error.
struct ExecutionFailure: Error {
    /// That of the last attempt.
    let error: FreshetError
    /// Whether an attempt left open whether the mutation was applied.
    let mayBeApplied: Bool
}

/// The response to an operation that ran once.
struct OperationResponse: Sendable {
    let data: JSONValue
    let errors: [ResponseError]
    /// The position of a mutation; nil if the server names none.
    let position: MutationPosition?
}
