package import JSON
package import LiveModel

/// A client's request to run or follow a stored operation, from any protocol.
package struct OperationRequest: Sendable, Hashable {
    /// Nil for the service's only connector.
    package var connector: String?
    /// Nil for the only operation of `document`.
    package var operationName: String?
    /// The text that the client sent with or instead of the name; an empty one counts as none.
    package var document: String?
    /// Used if there is no text.
    package var documentID: DocumentID?
    package var variables: JSONObject
    /// The result that the client already holds.
    package var resume: EntityTag?
    /// Makes a mutation apply once; without effect for queries.
    package var idempotencyKey: IdempotencyKey?
    /// Whether results may be sent as JSON Patches against what the client holds.
    package var wantsDelta = false
    /// Whether each result comes with its entity tag, and an unchanged one as its tag alone.
    package var wantsTags = false

    package init(
        connector: String? = nil, operationName: String?, document: String? = nil, documentID: DocumentID? = nil,
        variables: JSONObject = JSONObject(), resume: EntityTag? = nil
    ) {
        self.documentID = documentID
        self.resume = resume
        self.connector = connector
        self.operationName = operationName
        self.document = document
        self.variables = variables
    }

    /// Reads the parameters of a GraphQL request (GraphQL over HTTP §5.1), `{query?, operationName?, variables?,
    /// extensions?, documentId?}`; other keys are ignored, null counts as absent. `extensions.connector` names the
    /// connector, `extensions.resume` is the entity tag of the result that the client holds, `extensions.resumeTags`
    /// with the value true asks for such tags, `extensions.delta` with the value `json-patch` for patches, and
    /// `extensions.idempotencyKey` makes a mutation apply once.
    /// - Throws: `.badRequest` naming the field that has the wrong type.
    package init(graphQL object: JSONObject) throws(RequestError) {
        self.operationName = try Self.field("operationName", of: object, "a string") { $0.stringValue }
        let document = try Self.field("query", of: object, "a string") { $0.stringValue }
        self.document = document?.isEmpty == true ? nil : document
        self.variables = try Self.field("variables", of: object, "an object") { $0.objectValue } ?? JSONObject()
        let extensions = try Self.field("extensions", of: object, "an object") { $0.objectValue }
        self.connector = try extensions.flatMap { extensions throws(RequestError) in
            try Self.field("connector", of: extensions, "a string") { $0.stringValue }
        }
        let persisted = extensions?["persistedQuery"]?["sha256Hash"]?.stringValue
        if let id = try Self.field("documentId", of: object, "a string", { $0.stringValue }) {
            documentID = try DocumentID(documentID: id)
        } else {
            documentID = try persisted.map { hash throws(RequestError) in try DocumentID(persistedQuery: hash) }
        }
        self.idempotencyKey = try extensions.flatMap { extensions throws(RequestError) in
            try Self.field(IdempotencyKey.extensionName, of: extensions, "a string") { $0.stringValue }
        }.map { text throws(RequestError) in try IdempotencyKey(text) }
        self.wantsDelta = extensions?["delta"]?.stringValue == "json-patch"
        self.wantsTags = extensions?["resumeTags"] == .bool(true)
        self.resume = extensions?["resume"]?.stringValue.flatMap { EntityTag(bare: $0) }
    }

    /// Reads the body of a SQL Connect call: `{name?, operationName, variables?}`; null counts as absent.
    /// - Throws: `.badRequest` naming the field that has the wrong type.
    package init(sqlConnect object: JSONObject, of connector: String) throws(RequestError) {
        let name = try Self.field("operationName", of: object, "a string") { $0.stringValue }
        guard let name, !name.isEmpty else { throw RequestError(.badRequest, "\"operationName\" is missing") }
        let variables = try Self.field("variables", of: object, "an object") { $0.objectValue }
        self.init(connector: connector, operationName: name, variables: variables ?? JSONObject())
    }

    /// Takes the idempotency key of a header, which must not differ from the one in the body.
    /// - Parameter header: nil if there is none.
    /// - Throws: `.badRequest`.
    package mutating func take(idempotencyKeyHeader header: String?) throws(RequestError) {
        idempotencyKey = try IdempotencyKey.chosen(header: header, body: idempotencyKey)
    }

    private static func field<Wanted>(
        _ name: String, of object: JSONObject, _ expected: String, _ read: (JSONValue) -> Wanted?
    ) throws(RequestError) -> Wanted? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let wanted = read(value) else { throw RequestError(.badRequest, "\"\(name)\" must be \(expected)") }
        return wanted
    }
}
