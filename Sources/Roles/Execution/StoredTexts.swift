import Catalog
import GraphQLLanguage
import LiveModel
import Operations

/// Finds stored operations by the texts that clients send instead of names.
struct StoredTexts: Sendable {
    private let selections: [OperationReference: SelectionMatch]
    private let byExact: [String: [StoredOperation]]
    private let byBare: [String: [StoredOperation]]
    private let byDigest: [Digest: [StoredOperation]]

    init(catalog: Catalog) {
        var selections: [OperationReference: SelectionMatch] = [:]
        var byExact: [String: [StoredOperation]] = [:]
        var byBare: [String: [StoredOperation]] = [:]
        var byDigest: [Digest: [StoredOperation]] = [:]
        for operation in catalog.connectors.values.flatMap(\.operations.values) {
            byDigest[Digest(of: operation.text.utf8), default: []].append(operation)
            let source = Source(name: operation.reference.description, text: operation.text)
            guard let document = try? Parser.parseDocument(source), let definition = document.operations.first else {
                continue
            }
            let match = SelectionMatch(definition, in: document)
            selections[operation.reference] = match
            byExact[match.exact, default: []].append(operation)
            byBare[match.bare, default: []].append(operation)
        }
        self.selections = selections
        self.byExact = byExact
        self.byBare = byBare
        self.byDigest = byDigest
    }

    func selections(of operation: StoredOperation) -> SelectionMatch? { selections[operation.reference] }

    func knows(_ digest: Digest) -> Bool { byDigest[digest] != nil }

    func operations(_ digest: Digest, in connectors: [Connector]) -> [StoredOperation] {
        Self.filter(byDigest[digest], connectors)
    }

    /// Operations with exactly these selections come before those that differ in what `SelectionMatch` ignores.
    func operations(
        selecting selections: SelectionMatch, _ kind: OperationKind, in connectors: [Connector]
    ) -> [StoredOperation] {
        for found in [byExact[selections.exact], byBare[selections.bare]] {
            let fitting = Self.filter(found, connectors).filter { Self.fits(kind, $0.kind) }
            if !fitting.isEmpty { return fitting }
        }
        return []
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
