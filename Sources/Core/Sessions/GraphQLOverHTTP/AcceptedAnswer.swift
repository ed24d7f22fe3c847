/// The media types of a single GraphQL response. Source: GraphQL over HTTP §6.
package enum ResponseType: String, Sendable {
    case json = "application/json"
    case graphQLResponse = "application/graphql-response+json"
}

/// The responses that a client of `/graphql` accepts, from its `Accept` header (RFC 9110 section 12.5.1).
package struct AcceptedAnswer: Sendable, Hashable {
    /// Nil if no single response is accepted.
    package let single: ResponseType?
    /// Nil if no stream is accepted.
    package let stream: StreamFormat?
    /// Whether a query that may be read or followed is followed.
    package let prefersStream: Bool

    /// Higher weights first, then in order of appearance. Without a header, a single response in plain JSON.
    package init(_ header: String?) {
        guard let header, header.contains(where: { $0 != " " && $0 != "\t" }) else {
            self.init(single: .json, stream: nil, prefersStream: false)
            return
        }
        var single: (type: ResponseType, weight: Double)?
        var stream: (format: StreamFormat, weight: Double)?
        var streamCameFirst = false
        for range in header.split(separator: ",") {
            let parts = range.split(separator: ";").map {
                $0.filter { $0 != " " && $0 != "\t" && $0 != "\"" }.lowercased()
            }
            guard let essence = parts.first else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            guard weight > 0 else { continue }
            if let type = Self.single(essence), weight > single?.weight ?? 0 { single = (type, weight) }
            if let format = Self.stream(essence, parts.dropFirst()), weight > stream?.weight ?? 0 {
                stream = (format, weight)
                streamCameFirst = single == nil
            }
        }
        let prefersStream =
            switch (single, stream) {
            case (_, nil): false
            case (nil, _?): true
            // Sent for subscriptions only, beside types for errors.
            case (_?, (.multipart, _)?), (_?, (.multipartWithLengths, _)?): true
            case (let single?, let stream?):
                stream.weight > single.weight || (stream.weight == single.weight && streamCameFirst)
            }
        self.init(single: single?.type, stream: stream?.format, prefersStream: prefersStream)
    }

    private init(single: ResponseType?, stream: StreamFormat?, prefersStream: Bool) {
        self.single = single
        self.stream = stream
        self.prefersStream = prefersStream
    }

    private static func single(_ essence: String) -> ResponseType? {
        switch essence {
        case "application/json", "*/*", "application/*": .json
        case "application/graphql-response+json": .graphQLResponse
        default: nil
        }
    }

    /// A wildcard never selects a stream. `multipart/mixed` alone means another protocol, incremental delivery.
    private static func stream(_ essence: String, _ parameters: ArraySlice<String>) -> StreamFormat? {
        switch essence {
        case "text/event-stream": .graphQLSSE
        case "multipart/mixed" where parameters.contains("subscriptionspec=1.0"):
            parameters.contains("boundary=graphql") ? .multipartWithLengths : .multipart
        default: nil
        }
    }
}
