package import JSON
package import LiveModel

/// What a SQL Connect client sends on a stream, whatever its encoding. Source: docs/reference/sql-connect.md §2.1, §3.
package struct StreamRequest: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case subscribe(Execute)
        /// Once, query or mutation.
        case execute(Execute)
        /// Run the subscription of this id again.
        case resume
        case cancel
    }

    package struct Execute: Sendable, Hashable {
        package var operationName: String
        package var variables: JSONObject

        package init(operationName: String, variables: JSONObject) {
            self.operationName = operationName
            self.variables = variables
        }
    }

    /// `projects/P/locations/L/services/S/connectors/C`; in the first message, empty later.
    package var name: String
    /// Comes back byte for byte.
    package var requestID: String
    /// The last of several headers of one name, in small letters.
    package var headers: [String: String]
    /// Nil: only the name and the headers count.
    package var kind: Kind?

    package init(name: String = "", requestID: String = "", headers: [String: String] = [:], kind: Kind? = nil) {
        self.name = name
        self.requestID = requestID
        self.headers = headers
        self.kind = kind
    }

    /// The token it brings: nil for none, empty to sign out.
    var token: String? { headers["x-firebase-auth-token"] }
    var apiKey: String? { Credentials.apiKeyHeaders.lazy.compactMap { headers[$0] }.first }
}

/// What a client gets on a stream.
package struct StreamResponse: Sendable, Hashable {
    package var requestID: String
    package var answer: OperationAnswer

    package init(requestID: String, answer: OperationAnswer) {
        self.requestID = requestID
        self.answer = answer
    }
}

/// A message that is not of the stream's form.
package struct StreamFrameError: Error, Sendable, Hashable {
    /// Whom to answer; nil when the message is not readable at all.
    package let requestID: String?
    package let message: String

    package init(requestID: String?, message: String) {
        self.requestID = requestID
        self.message = message
    }
}

/// How the messages of a stream are written.
package protocol StreamEncoding: Sendable {
    /// As operators see it.
    static var protocolName: String { get }
    static var format: ResultFormat { get }
    /// Whether a token that is refused or ran out ends the stream, as gRPC clients want it, rather than each operation.
    static var endsWhenUnauthenticated: Bool { get }

    static func decode(_ bytes: [UInt8]) throws(StreamFrameError) -> StreamRequest
    static func encode(_ response: StreamResponse) -> [UInt8]
}
