package import Catalog
package import GraphQLLanguage
package import JSON
package import LiveModel
package import Operations
package import Postgres

/// A stored operation with its coerced variables, which its sender may run.
package struct ResolvedOperation: Sendable {
    package let operation: StoredOperation
    /// Coerced to their declared types.
    package let variables: JSONObject
    package let auth: Auth?
    /// The operation kind in the client's text; nil without a text.
    package let wantedKind: OperationKind?
    /// The version of the project that the operation was found in.
    package let projectVersion: Digest
    /// The caller that is charged for slow statements (`Identity.caller`).
    package var caller = Caller.unknown
    /// Makes a mutation apply once.
    package var idempotencyKey: IdempotencyKey?
    /// Whether the steps of a mutation's way to its deliveries are noted.
    package var isTraced = false
    /// The span of the client's trace within which it is requested, 16 hexadecimal digits; nil if there is none.
    package var parentSpan: String?
    /// Whether an administrator runs it, who learns everything about violated constraints.
    package var isForAdministrator = false
    /// The text of an administrator's ad-hoc operation; nil for a stored one.
    package var adHocText: String?

    /// Whose its idempotency key is.
    package var sender: IdempotencyClaim.Sender {
        isForAdministrator ? .administrator(text: adHocText) : .client
    }

    /// Returns the same operation for another sender, who is not authorized yet.
    package func with(auth: Auth?) -> ResolvedOperation {
        ResolvedOperation(
            operation: operation, variables: variables, auth: auth, wantedKind: wantedKind,
            projectVersion: projectVersion, caller: caller)
    }

    /// The live query that this request belongs to.
    package var liveQuery: LiveQuery {
        LiveQuery(
            operation: operation.reference, version: operation.version, variables: variables,
            auth: operation.authReads.project(auth))
    }
}

/// The kinds of operation that a request may name; a path for queries, for example, takes no mutation.
package struct AllowedKinds: Sendable {
    private let only: StoredOperation.Kind?
    private let code: ErrorCode
    private let hint: String

    package static let all = AllowedKinds(only: nil, code: .badRequest, hint: "")

    /// - Parameters:
    ///   - code: the error code for an operation of the other kind.
    ///   - hint: ends the error message, as in `"X" is a query: GET it from …`.
    package static func only(
        _ kind: StoredOperation.Kind, code: ErrorCode = .badRequest, hint: String = ""
    ) -> AllowedKinds {
        AllowedKinds(only: kind, code: code, hint: hint)
    }

    /// - Parameter name: the operation's name if the sender may learn it.
    func require(_ operation: StoredOperation, name: String?) throws(RequestError) {
        guard let only, operation.kind != only else { return }
        let kind = operation.kind == .query ? "query" : "mutation"
        throw RequestError(code, "\(name.map { "\"\($0)\"" } ?? "the operation") is a \(kind)\(hint)")
    }
}

/// Finds operations, coerces their variables and authorizes their senders, alike for every protocol.
package struct OperationLookup: Sendable {
    package let catalog: Catalog
    /// The project's version.
    package let version: Digest
    private let texts: StoredTexts

    package init(catalog: Catalog, version: Digest) {
        self.catalog = catalog
        self.version = version
        texts = StoredTexts(catalog: catalog)
    }

    /// - Parameters:
    ///   - connector: nil searches all connectors; the name or text must then be unique among them.
    ///   - name: nil selects the operation in `document`, or the only one with the selections of `document`.
    ///   - document: a text that must have the stored operation's selections; optional.
    ///   - digest: the stored text's digest, instead of name and text.
    ///   - kinds: checked before the variables.
    ///   - isAdministrator: whether `@auth` does not apply.
    /// - Throws: `.operationNotFound`, `.badRequest`, `.invalidVariable`, `.unauthenticated`, `.permissionDenied`.
    package func resolve(
        connector: String?, name: String?, document: String?, digest: Digest? = nil, variables: JSONObject,
        auth: Auth?, nowMs: Int64, kinds: AllowedKinds = .all, isAdministrator: Bool = false
    ) throws(RequestError) -> ResolvedOperation {
        let connectors = try self.connectors(connector)
        let sent = try document.map { text throws(RequestError) in try SentText(text, name: name) }
        let operation: StoredOperation
        if let digest, sent == nil {
            operation = try find(digest, name: name, in: connectors, isSignedOut: auth == nil)
        } else if let name = name ?? sent?.operation.name?.value {
            operation = try find(name, sent, in: connectors, isSignedOut: auth == nil)
        } else if let sent {
            operation = try Self.only(
                texts.operations(selecting: sent.selections, sent.operation.kind, in: connectors),
                isSignedOut: auth == nil
            ).orThrow(RequestError(.operationNotFound, "no stored operation has these selections"))
        } else {
            throw RequestError(.badRequest, "the request names no operation")
        }
        let isNamed = auth != nil || operation.reference.operation == name ?? sent?.operation.name?.value
        try kinds.require(operation, name: isNamed ? operation.reference.operation : nil)
        let coerced = try operation.coerce(variables)
        if !isAdministrator, let refusal = operation.authorize(auth: auth, variables: coerced, nowMs: nowMs) {
            throw refusal
        }
        return ResolvedOperation(
            operation: operation, variables: coerced, auth: auth, wantedKind: sent?.operation.kind,
            projectVersion: version)
    }

    /// Resolves a text of an administrator, who may run anything.
    /// - Throws: `.badRequest` with what is wrong with the text, `.invalidVariable`.
    package func resolveAdHoc(
        _ text: String, name: String?, variables: JSONObject, auth: Auth?
    ) throws(RequestError) -> ResolvedOperation {
        let operation = try catalog.adHoc(text, name: name)
        return ResolvedOperation(
            operation: operation, variables: try operation.coerce(variables), auth: auth, wantedKind: nil,
            projectVersion: version)
    }

    private func find(
        _ digest: Digest, name: String?, in connectors: [Connector], isSignedOut: Bool
    ) throws(RequestError) -> StoredOperation {
        let operation = try Self.only(texts.operations(digest, in: connectors), isSignedOut: isSignedOut)
            .orThrow(RequestError(.operationNotFound, "no stored operation has a text with this digest"))
        guard name == nil || name == operation.reference.operation else {
            throw RequestError(.badRequest, "the text with this digest is not that of \"\(name ?? "")\"")
        }
        return operation
    }

    /// Finds the stored operation for a text. Clients run stored operations only, so a text is accepted if its
    /// selections are those of a stored one. A client may call a stored query `subscription`, and may use any operation
    /// name if the selections identify the operation. To a sender who is not signed in, a text that fits nothing gets
    /// the same answer whether or not an operation has its name.
    private func find(
        _ name: String, _ sent: SentText?, in connectors: [Connector], isSignedOut: Bool
    ) throws(RequestError) -> StoredOperation {
        let unfit = RequestError(
            .operationNotFound, "the text differs from the stored one, or none is stored under its name")
        if let operation = try Self.only(connectors.compactMap { $0.operations[name] }, isSignedOut: isSignedOut) {
            do {
                try sent?.compare(with: operation, selections: texts.selections(of: operation))
            } catch {
                throw isSignedOut ? unfit : error
            }
            return operation
        }
        let place = connectors.count == 1 ? "connector \"\(connectors[0].id)\" has" : "there is"
        let unknown = RequestError(.operationNotFound, "\(place) no operation \"\(name)\"")
        guard let sent else { throw unknown }
        return try Self.only(
            texts.operations(selecting: sent.selections, sent.operation.kind, in: connectors), isSignedOut: isSignedOut
        ).orThrow(isSignedOut ? unfit : unknown)
    }

    private static func only(
        _ operations: [StoredOperation], isSignedOut: Bool
    ) throws(RequestError) -> StoredOperation? {
        guard operations.count > 1 else { return operations.first }
        if isSignedOut {
            throw RequestError(.badRequest, "several stored operations fit, name connector and operation")
        }
        let names = operations.map { "\($0.reference)" }.sorted().joined(separator: ", ")
        throw RequestError(.badRequest, "several stored operations fit, name connector and operation: \(names)")
    }

    /// Whether a stored operation of any connector has a text with this digest.
    package func knows(_ digest: Digest) -> Bool { texts.knows(digest) }

    private func connectors(_ id: String?) throws(RequestError) -> [Connector] {
        guard let id else { return catalog.connectors.values.sorted { $0.id < $1.id } }
        guard let connector = catalog.connectors[id] else {
            throw RequestError(.operationNotFound, "no connector \"\(id)\"")
        }
        return [connector]
    }
}

extension StoredOperation? {
    fileprivate func orThrow(_ error: RequestError) throws(RequestError) -> StoredOperation {
        guard let self else { throw error }
        return self
    }
}

/// An operation text from a request.
private struct SentText {
    let operation: OperationDefinition
    let selections: SelectionMatch

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
            throw RequestError(
                .badRequest, "\"query\" must hold exactly one operation, or the one named by operationName")
        }
        operation = wanted[0]
        selections = SelectionMatch(operation, in: parsed)
    }

    func compare(with stored: StoredOperation, selections: SelectionMatch?) throws(RequestError) {
        let name = stored.reference.operation
        guard StoredTexts.fits(operation.kind, stored.kind) else {
            throw RequestError(.badRequest, "\"\(name)\" is not stored as a \(operation.kind.rawValue)")
        }
        guard let selections, self.selections.fits(selections) else {
            throw RequestError(.operationNotFound, "the text of \"\(name)\" differs from the stored one")
        }
    }
}
