import GraphQLLanguage

/// The selection of an operation as two canonical texts: a client's text fits a stored one if either is equal.
///
/// `bare` lacks what the server alone acts on (`@check`, `@redact`, `@allow`) and `__typename`, which client libraries
/// add to texts or leave out. The stored operation runs whatever the client's text says of these.
struct SelectionMatch: Sendable, Hashable {
    let exact: String
    let bare: String

    init(_ operation: OperationDefinition, in document: Document) {
        exact = document.selectionText(of: operation)
        var bareOperation = operation
        bareOperation.selectionSet = operation.selectionSet.bare
        let bareDocument = Document(
            definitions: document.fragments.map { fragment in
                var bareFragment = fragment
                bareFragment.selectionSet = fragment.selectionSet.bare
                bareFragment.directives = fragment.directives.bare
                return .fragment(bareFragment)
            })
        bare = bareDocument.selectionText(of: bareOperation)
    }

    func fits(_ other: SelectionMatch) -> Bool { exact == other.exact || bare == other.bare }
}

extension SelectionSet {
    /// The selection without `__typename`, unless nothing else is selected.
    fileprivate var bare: SelectionSet {
        let others = selections.filter { selection in
            guard case .field(let field) = selection else { return true }
            return field.name.value != "__typename" || field.alias != nil || !field.directives.isEmpty
        }
        return SelectionSet(
            (others.isEmpty ? selections : others).map { selection in
                switch selection {
                case .field(var field):
                    field.directives = field.directives.bare
                    field.selectionSet = field.selectionSet?.bare
                    return .field(field)
                case .fragmentSpread(var spread):
                    spread.directives = spread.directives.bare
                    return .fragmentSpread(spread)
                case .inlineFragment(var fragment):
                    fragment.directives = fragment.directives.bare
                    fragment.selectionSet = fragment.selectionSet.bare
                    return .inlineFragment(fragment)
                }
            })
    }
}

extension [Directive] {
    fileprivate var bare: [Directive] {
        filter { !["check", "redact", "allow"].contains($0.name.value) }
    }
}
