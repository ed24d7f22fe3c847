package import JSON
package import LiveModel

/// A message of a SQL Connect client on a stream, in any encoding. Source: docs/reference/sql-connect.md §2.1, §3.
package struct StreamRequest: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case subscribe(Execute)
        /// Run a query or mutation once.
        case execute(Execute)
        /// Run the subscription of this id again.
        case resume
        case cancel
    }

    package struct Execute: Sendable, Hashable {
        package var operationName: String
        package var variables: JSONObject
        /// The idempotency key in the headers of the message.
        private var idempotencyKeyHeader: String?

        package init(operationName: String, variables: JSONObject) {
            self.operationName = operationName
            self.variables = variables
        }

        /// Returns the same with what the headers of the message say about it.
        func with(_ headers: [String: String]) -> Execute {
            var wanted = self
            wanted.idempotencyKeyHeader = headers[IdempotencyKey.headerName]
            return wanted
        }

        /// - Throws: `.badRequest` for a malformed idempotency key.
        func request(of connector: String) throws(RequestError) -> OperationRequest {
            var request = OperationRequest(connector: connector, operationName: operationName, variables: variables)
            try request.take(idempotencyKeyHeader: idempotencyKeyHeader)
            return request
        }

        /// The same for a session, which keeps it as long as it follows the operation.
        var compacted: Execute { Execute(operationName: operationName, variables: variables.compacted) }
    }

    /// `projects/P/locations/L/services/S/connectors/C` in the first message, empty later.
    package var name: String
    /// Returned byte for byte.
    package var requestID: String
    /// The headers by lower-case name; the last of several with the same name.
    package var headers: [String: String]
    /// Nil if only the name and the headers matter.
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

/// A message to a client on a stream.
package struct StreamResponse: Sendable, Hashable {
    package var requestID: String
    package var answer: OperationAnswer

    package init(requestID: String, answer: OperationAnswer) {
        self.requestID = requestID
        self.answer = answer
    }
}

/// The error of a message that is malformed.
package struct StreamFrameError: Error, Sendable, Hashable {
    /// The request to answer; nil if the message is not readable at all.
    package let requestID: String?
    package let message: String

    package init(requestID: String?, message: String) {
        self.requestID = requestID
        self.message = message
    }
}

/// The encoding of the messages of a stream.
package protocol StreamEncoding: Sendable {
    /// The name that operators see.
    static var protocolName: String { get }
    static var format: ResultFormat { get }
    /// Whether a rejected or expired token ends the stream, as gRPC clients expect, rather than each operation.
    static var endsWhenUnauthenticated: Bool { get }

    static func decode(_ bytes: [UInt8]) throws(StreamFrameError) -> StreamRequest
    static func encode(_ response: StreamResponse) -> [UInt8]
}
