package import JSON

/// The SHA-256 of a live query's identity: subscriptions with equal keys share it.
package struct LiveQueryKey: Hashable, Sendable, CustomStringConvertible {
    package let digest: Digest

    package init(digest: Digest) {
        self.digest = digest
    }

    package var description: String { digest.hex }
}

/// An operation, its canonical variables, and those claims that the operation or its rules read.
///
/// All subscribers of a live query share one run and one result. Therefore everything that may change a result must be
/// part of the key; otherwise a result would reach a subscriber for whom it was not computed.
package struct LiveQuery: Sendable, Hashable {
    package let operation: OperationReference
    /// The digest of the stored operation's text and schema: a redeployed operation is another live query.
    package let version: Digest
    /// The coerced variables: defaults applied, scalars in canonical form.
    package let variables: JSONObject
    /// The result of `AuthReads.project`; nil if no part of auth is read.
    package let auth: JSONValue?
    package let key: LiveQueryKey
    /// The size of its identity as JSON.
    package let byteCount: Int

    package init(operation: OperationReference, version: Digest, variables: JSONObject, auth: JSONValue?) {
        self.operation = operation
        self.version = version
        self.variables = variables
        self.auth = auth
        var identity: [JSONValue] = [
            .string(operation.connector), .string(operation.operation), .string(version.hex), .object(variables),
        ]
        if let auth { identity.append(auth) }
        let bytes = JSONValue.array(identity).canonicalBytes
        byteCount = bytes.count
        self.key = LiveQueryKey(digest: Digest(of: bytes))
    }

    /// The claims as an `Auth`, for running the query; it holds only the parts that are read.
    package var projectedAuth: Auth? {
        guard case .object(let object)? = auth else { return nil }
        return Auth(uid: object["uid"]?.stringValue ?? "", token: object["token"]?.objectValue ?? JSONObject())
    }

    package static func == (left: LiveQuery, right: LiveQuery) -> Bool { left.key == right.key }

    package func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
