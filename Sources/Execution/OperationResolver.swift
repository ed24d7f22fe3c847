package import Catalog
package import GraphQLLanguage
package import JSON
package import LiveModel

/// A request made certain: which stored operation, with which variables, and that its sender may run it.
package struct ResolvedOperation: Sendable {
    package let operation: StoredOperation
    /// Coerced.
    package let variables: JSONObject
    package let auth: Auth?
    /// What the client's text called it; nil without a text.
    package let wantedKind: OperationKind?

    /// The same for another sender, who is yet to be authorized.
    package func with(auth: Auth?) -> ResolvedOperation {
        ResolvedOperation(operation: operation, variables: variables, auth: auth, wantedKind: wantedKind)
    }

    /// The live query that this request belongs to.
    package var liveQuery: LiveQuery {
        LiveQuery(
            operation: operation.reference, version: operation.version, variables: variables,
            auth: operation.authReads.project(auth))
    }
}

/// Finds, coerces, authorizes: the same for every protocol.
package struct OperationResolver: Sendable {
    package let catalog: Catalog
    /// Canonical selections of every stored operation, to compare texts of clients with.
    private let selections: [OperationReference: String]

    package init(catalog: Catalog) {
        self.catalog = catalog
        var selections: [OperationReference: String] = [:]
        for operation in catalog.connectors.values.flatMap(\.operations.values) {
            let source = Source(name: operation.reference.description, text: operation.text)
            guard let document = try? Parser.parseDocument(source), let definition = document.operations.first else {
                continue
            }
            selections[operation.reference] = document.selectionText(of: definition)
        }
        self.selections = selections
    }

    /// - Parameters:
    ///   - connector: nil means the only one.
    ///   - name: nil means the name in `document`.
    ///   - document: text that must have the stored operation's selections, if any.
    /// - Throws: `.operationNotFound`, `.badRequest`, `.invalidVariable`, `.unauthenticated`, `.permissionDenied`.
    package func resolve(
        connector: String?, name: String?, document: String?, variables: JSONObject, auth: Auth?, nowMs: Int64
    ) throws(RequestError) -> ResolvedOperation {
        let connector = try self.connector(connector)
        let sent = try document.map { text throws(RequestError) in try SentText(text, name: name) }
        guard let name = name ?? sent?.operation.name?.value else {
            throw RequestError(.badRequest, "the request names no operation")
        }
        guard let operation = connector.operations[name] else {
            throw RequestError(.operationNotFound, "connector \"\(connector.id)\" has no operation \"\(name)\"")
        }
        try sent?.compare(with: operation, selections: selections[operation.reference])
        let coerced = try operation.coerce(variables)
        if let refusal = operation.authorize(auth: auth, variables: coerced, nowMs: nowMs) { throw refusal }
        return ResolvedOperation(
            operation: operation, variables: coerced, auth: auth, wantedKind: sent?.operation.kind)
    }

    private func connector(_ id: String?) throws(RequestError) -> Connector {
        if let id {
            guard let connector = catalog.connectors[id] else {
                throw RequestError(.operationNotFound, "no connector \"\(id)\"")
            }
            return connector
        }
        guard catalog.connectors.count == 1, let only = catalog.connectors.values.first else {
            let names = catalog.connectors.keys.sorted().joined(separator: ", ")
            throw RequestError(.badRequest, "the service has several connectors, name one of: \(names)")
        }
        return only
    }
}

/// A text that came with a request.
private struct SentText {
    let document: Document
    let operation: OperationDefinition

    init(_ text: String, name: String?) throws(RequestError) {
        let parsed: Document
        do {
            parsed = try Parser.parseDocument(Source(name: "request", text: text), limits: .request)
        } catch {
            throw RequestError(
                .badRequest, "\"query\" is not GraphQL: \(error.message) (\(error.location))")
        }
        let wanted = name.map { name in parsed.operations.filter { $0.name?.value == name } } ?? parsed.operations
        guard wanted.count == 1 else {
            throw RequestError(.badRequest, "\"query\" must hold exactly one operation of the name asked for")
        }
        document = parsed
        operation = wanted[0]
    }

    /// Clients run stored operations only: a text is accepted when its selections are those of the stored one. A client
    /// may call a stored query `subscription`.
    func compare(with stored: StoredOperation, selections: String?) throws(RequestError) {
        let name = stored.reference.operation
        switch (operation.kind, stored.kind) {
        case (.query, .query), (.subscription, .query), (.mutation, .mutation): break
        default: throw RequestError(.badRequest, "\"\(name)\" is not stored as a \(operation.kind.rawValue)")
        }
        guard document.selectionText(of: operation) == selections else {
            throw RequestError(.operationNotFound, "the text of \"\(name)\" differs from the stored one")
        }
    }
}
