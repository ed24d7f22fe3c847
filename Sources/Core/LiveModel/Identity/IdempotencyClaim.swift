package import JSON

/// The claim of an idempotency key by one mutation: whose key it is, and what it was sent with. Two claims of equal
/// `id` exclude each other.
package struct IdempotencyClaim: Hashable, Sendable {
    /// The digest of user, connector and key. The key itself is not stored: for callers who are not signed in, it is
    /// what protects the answer.
    package let id: Digest
    /// The digest of operation and coerced variables. The deployment is no part of it: a retry after a rollout gets the
    /// first answer.
    package let request: Digest

    /// The sender of the mutation.
    package enum Sender: Sendable, Hashable {
        case client
        /// An administrator, as user or as none. All administrators share one space of keys, apart from clients.
        /// - Parameter text: the text of an ad-hoc operation, which its name does not identify; nil for a stored one.
        case administrator(text: String?)
    }

    /// - Parameters:
    ///   - variables: coerced to their declared types.
    ///   - auth: nil for a caller who is not signed in.
    /// - Throws: `.badRequest` for a short key of a client who is not signed in.
    package init(
        _ key: IdempotencyKey, of operation: OperationReference, variables: JSONObject, auth: Auth?,
        sender: Sender = .client
    ) throws(RequestError) {
        var scope: [JSONValue] = [.string(operation.connector)]
        var wanted: [JSONValue] = [.string(operation.operation), .object(variables)]
        // Users of several issuers may have equal names.
        if let auth { scope += [.string(auth.uid), auth.token["iss"] ?? .null] }
        if case .administrator(let text) = sender {
            scope.append(["administrator": true])
            if let text { wanted.append(.string(text)) }
        } else if auth == nil, key.text.utf8.count < IdempotencyKey.signedOutBytesMin {
            throw RequestError(
                .badRequest,
                "without a signed-in user, an idempotency key must be random and have at least"
                    + " \(IdempotencyKey.signedOutBytesMin) characters, such as a UUID")
        }
        id = Digest(of: JSONValue.array([.string(key.text)] + scope).canonicalBytes)
        request = Digest(of: JSONValue.array(wanted).canonicalBytes)
    }

    /// The number of the advisory lock that the first mutation holds while it is under way. Numbers of different claims
    /// may collide: one then waits for the other.
    package var lockNumber: Int64 { Int64(bitPattern: id.prefix) }

    /// The id of the mutation's event, a version-8 UUID (RFC 9562 section 5.8): a retry names the same event without
    /// any record of it. Another digest than `id`, because clients see it.
    package var eventID: String {
        let digest = Digest(of: JSONValue.array([.string(id.hex), ["event": true]]).canonicalBytes)
        var digits = Array(digest.hex.utf8)
        digits[12] = UInt8(ascii: "8")
        // The variant, in the first two bits.
        digits[16] = Array("89ab".utf8)[Int(digits[16]) % 4]
        let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
        return groups.map { String(decoding: digits[$0], as: UTF8.self) }.joined(separator: "-")
    }

    /// Returns the key under which a custom resolver gets one field of the mutation, the same for each retry.
    package func resolverKey(_ responseKey: String) -> String {
        Digest(of: JSONValue.array([.string(id.hex), .string(responseKey)]).canonicalBytes).hex
    }
}
