package import JSON
package import LiveModel

/// The form of one operation's results in an HTTP response that stays open.
package enum StreamFormat: Sendable, Hashable, CaseIterable {
    /// The plain resource: events `next` with the result's entity tag as their id, so that `Last-Event-ID` resumes.
    case resource
    /// graphql-sse with one connection per operation. Source: enisdenjo/graphql-sse PROTOCOL.md.
    case graphQLSSE
    /// The same with the resume tag of each result in `extensions.resume`, for clients that ask for it.
    case taggedGraphQLSSE
    /// Apollo's multipart subscriptions. Source: apollographql/router `protocols/multipart.rs`, and what its clients
    /// accept: unquoted `subscriptionSpec`, a line break before the first delimiter, each delimiter sent with the part
    /// before it.
    case multipart
    /// The same with a `content-length` in each part, for clients that ask for this boundary: Python's gql delivers a
    /// part at once only if it knows its length. Apollo iOS asks for none and reads no part with a second header.
    case multipartWithLengths

    package var contentType: String {
        switch self {
        case .resource, .graphQLSSE, .taggedGraphQLSSE: "text/event-stream"
        // gql needs the boundary unquoted, Apollo iOS the other parameter; all clients accept both.
        case .multipart, .multipartWithLengths: "multipart/mixed;boundary=graphql;subscriptionSpec=1.0"
        }
    }

    /// Sent at once, so that the client knows it is connected.
    package var opening: [UInt8] {
        switch self {
        case .resource, .graphQLSSE, .taggedGraphQLSSE: ServerSentEvent.keepAlive
        case .multipart, .multipartWithLengths: Array("\r\n--graphql".utf8) + keepAlive
        }
    }

    package var keepAlive: [UInt8] {
        switch self {
        case .resource, .graphQLSSE, .taggedGraphQLSSE: ServerSentEvent.keepAlive
        case .multipart, .multipartWithLengths: part(Array("{}".utf8))
        }
    }

    /// A result of a live query; the same for all its subscribers.
    package func result(_ result: LiveResult, of key: LiveQueryKey) -> [UInt8] {
        switch self {
        case .resource:
            let tag = EntityTag(result, of: key)
            return ServerSentEvent.event("next", id: tag.bare, data: result.answer.envelope)
        case .taggedGraphQLSSE:
            let extensions = #","extensions":{"resume":"\#(EntityTag(result, of: key).bare)"}}"#
            return answer(result.answer.envelope.dropLast() + Array(extensions.utf8))
        case .graphQLSSE, .multipart, .multipartWithLengths: return answer(result.answer.envelope)
        }
    }

    package var hasDeltas: Bool {
        switch self {
        case .resource, .graphQLSSE, .taggedGraphQLSSE: true
        case .multipart, .multipartWithLengths: false
        }
    }

    /// The same as a patch against the previous result of this stream: an event `patch` in the plain resource, whose
    /// data is not a whole result, and an extension in graphql-sse. Nil: whole results only.
    package func delta(_ patch: [UInt8], to result: LiveResult, of key: LiveQueryKey) -> [UInt8]? {
        switch self {
        case .resource:
            let tag = EntityTag(result, of: key)
            return ServerSentEvent.event("patch", id: tag.bare, data: patch)
        case .graphQLSSE: return answer(Array(#"{"extensions":{"delta":{"patch":"#.utf8) + patch + Array("}}}".utf8))
        case .taggedGraphQLSSE:
            let end = #"},"resume":"\#(EntityTag(result, of: key).bare)"}}"#
            return answer(Array(#"{"extensions":{"delta":{"patch":"#.utf8) + patch + Array(end.utf8))
        case .multipart, .multipartWithLengths: return nil
        }
    }

    /// The form with resume tags; nil if the protocol has none, or in a place of its own.
    package var tagged: StreamFormat? {
        switch self {
        case .graphQLSSE, .taggedGraphQLSSE: .taggedGraphQLSSE
        case .resource, .multipart, .multipartWithLengths: nil
        }
    }

    /// The client holds the present result.
    package func unchanged(_ tag: EntityTag) -> [UInt8] { answer(tag.unchangedPayload) }

    /// Invalidations, for clients that ask for them. Nil: the protocol has no place for them.
    package func invalidated(_ told: JSONValue) -> [UInt8]? {
        switch self {
        // An event that other clients of the protocols do not listen to.
        case .resource, .graphQLSSE, .taggedGraphQLSSE:
            ServerSentEvent.event("invalidations", id: nil, data: JSONWriter.compact(told))
        case .multipart, .multipartWithLengths: nil
        }
    }

    /// A complete answer, `{"data":…}`.
    package func answer(_ envelope: [UInt8]) -> [UInt8] {
        switch self {
        case .resource, .graphQLSSE, .taggedGraphQLSSE: ServerSentEvent.event("next", id: nil, data: envelope)
        case .multipart, .multipartWithLengths: part(Array(#"{"payload":"#.utf8) + envelope + Array("}".utf8))
        }
    }

    /// Errors of one refresh; the stream goes on.
    package func refreshFailed(_ errors: [RequestError]) -> [UInt8] {
        switch self {
        case .resource: ServerSentEvent.event("error", id: nil, data: ResultEnvelope.errors(errors))
        case .graphQLSSE, .taggedGraphQLSSE, .multipart, .multipartWithLengths:
            answer(ResultEnvelope.errors(errors, body: ResultEnvelope.null))
        }
    }

    /// Errors that end the stream.
    package func failed(_ errors: [RequestError]) -> [UInt8] {
        switch self {
        case .resource: refreshFailed(errors) + completed
        case .graphQLSSE, .taggedGraphQLSSE: answer(ResultEnvelope.errors(errors)) + completed
        case .multipart, .multipartWithLengths:
            // Top-level errors end the subscription, errors inside a payload do not.
            part(
                Array(#"{"payload":null,"#.utf8) + ResultEnvelope.errors(errors).dropFirst()) + completed
        }
    }

    /// No more results.
    package var completed: [UInt8] {
        switch self {
        // Browsers drop an event without a data line.
        case .resource, .graphQLSSE, .taggedGraphQLSSE: ServerSentEvent.event("complete", id: nil, data: [])
        case .multipart, .multipartWithLengths: Array("--\r\n".utf8)
        }
    }

    /// The node is shutting down. Clients of event streams reconnect if the stream breaks off without `complete`;
    /// multipart clients need an error.
    package var leaving: [UInt8] {
        switch self {
        case .resource, .graphQLSSE, .taggedGraphQLSSE: []
        case .multipart, .multipartWithLengths:
            failed([RequestError(.unavailable, "the node is shutting down, subscribe again")])
        }
    }

    /// A part and the delimiter after it: clients deliver a part once they have read that.
    private func part(_ json: [UInt8]) -> [UInt8] {
        let length = self == .multipartWithLengths ? "\r\ncontent-length: \(json.count)" : ""
        return Array("\r\ncontent-type: application/json\(length)\r\n\r\n".utf8) + json
            + Array("\r\n--graphql".utf8)
    }
}
