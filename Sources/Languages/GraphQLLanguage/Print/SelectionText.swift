extension Document {
    /// Returns what an operation selects as one canonical text: its selection set in compact form, then every fragment
    /// that it reaches, sorted by name. Excludes the keyword, name, variables and directives of the operation itself.
    ///
    /// Two operations, even from different documents, select the same exactly when their texts are equal. The order of
    /// fields, arguments and aliases counts; layout and comments do not. Spreads of unknown fragments remain spreads.
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
    /// The names of all fragments spread in the selection set, in source order, with repetitions.
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
