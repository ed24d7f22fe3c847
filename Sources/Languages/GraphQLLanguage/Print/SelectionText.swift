extension Document {
    /// What an operation selects, as one canonical text: its selection set in compact print, then every fragment it
    /// reaches, sorted by name. Keyword, name, variables and directives of the operation itself are left out.
    ///
    /// Two operations, of one document or of two, select the same exactly when their texts are equal; order of fields,
    /// arguments and aliases counts, layout and comments do not. Spreads of fragments that the document lacks stay as
    /// spreads.
    package func selectionText(of operation: OperationDefinition) -> String {
        var definitions: [String: FragmentDefinition] = [:]
        for fragment in fragments where definitions[fragment.name.value] == nil {
            definitions[fragment.name.value] = fragment
        }
        var reached: Set<String> = []
        var pending = [operation.selectionSet]
        while let selectionSet = pending.popLast() {
            for name in selectionSet.spreadNames where reached.insert(name).inserted {
                if let fragment = definitions[name] { pending.append(fragment.selectionSet) }
            }
        }
        var text = Printer.print(operation.selectionSet, style: .compact)
        for name in reached.sorted() {
            guard let fragment = definitions[name] else { continue }
            text += Printer.print(.fragment(fragment), style: .compact)
        }
        return text
    }
}

extension SelectionSet {
    /// Names of the fragments spread anywhere inside, in the order written, repeats kept.
    package var spreadNames: [String] {
        selections.flatMap { selection -> [String] in
            switch selection {
            case .field(let field): field.selectionSet?.spreadNames ?? []
            case .fragmentSpread(let spread): [spread.name.value]
            case .inlineFragment(let fragment): fragment.selectionSet.spreadNames
            }
        }
    }
}
