import Catalog
import GraphQLLanguage
import LiveModel
import Operations

/// Finds stored operations by the texts that clients send instead of names.
struct StoredTexts: Sendable {
    /// Canonical selections.
    private let selections: [OperationReference: String]
    private let bySelections: [String: [StoredOperation]]
    private let byDigest: [Digest: [StoredOperation]]

    init(catalog: Catalog) {
        var selections: [OperationReference: String] = [:]
        var bySelections: [String: [StoredOperation]] = [:]
        var byDigest: [Digest: [StoredOperation]] = [:]
        for operation in catalog.connectors.values.flatMap(\.operations.values) {
            byDigest[Digest(of: operation.text.utf8), default: []].append(operation)
            let source = Source(name: operation.reference.description, text: operation.text)
            guard let document = try? Parser.parseDocument(source), let definition = document.operations.first else {
                continue
            }
            let text = document.selectionText(of: definition)
            selections[operation.reference] = text
            bySelections[text, default: []].append(operation)
        }
        self.selections = selections
        self.bySelections = bySelections
        self.byDigest = byDigest
    }

    func selections(of operation: StoredOperation) -> String? { selections[operation.reference] }

    func knows(_ digest: Digest) -> Bool { byDigest[digest] != nil }

    func operations(_ digest: Digest, in connectors: [Connector]) -> [StoredOperation] {
        Self.filter(byDigest[digest], connectors)
    }

    func operations(
        selecting selections: String, _ kind: OperationKind, in connectors: [Connector]
    ) -> [StoredOperation] {
        Self.filter(bySelections[selections], connectors).filter { Self.fits(kind, $0.kind) }
    }

    private static func filter(_ found: [StoredOperation]?, _ connectors: [Connector]) -> [StoredOperation] {
        found?.filter { operation in connectors.contains { $0.id == operation.reference.connector } } ?? []
    }

    /// Whether a client may use this operation kind: a stored query may also be called `subscription`.
    static func fits(_ kind: OperationKind, _ stored: StoredOperation.Kind) -> Bool {
        switch (kind, stored) {
        case (.query, .query), (.subscription, .query), (.mutation, .mutation): true
        case (.query, .mutation), (.subscription, .mutation), (.mutation, .query): false
        }
    }
}
