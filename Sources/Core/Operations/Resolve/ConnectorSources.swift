package import GraphQLLanguage
package import SchemaModel

/// The operations and fragments of one connector, with unique names.
package struct ConnectorSources: Sendable {
    package struct Operation: Sendable {
        package let definition: OperationDefinition
        package let name: Name
        package let file: SourceFile
    }

    package struct Fragment: Sendable {
        package let definition: FragmentDefinition
        package let file: SourceFile
        /// Whether the fragment includes itself, directly or through others.
        var isCyclic = false
    }

    package private(set) var operations: [Operation] = []
    package private(set) var fragments: [String: Fragment] = [:]
    /// Whether a file failed to parse; it may declare names that seem unknown and use names that seem unused.
    package private(set) var isIncomplete = false

    /// The prefix of names that operations may not have, since generated names use it.
    private static let reservedPrefix = "_"

    package init(files: [SourceFile], api: GeneratedAPI, sink: inout DiagnosticSink) {
        for file in files {
            guard let document = DocumentReader.parse(file, sink: &sink) else {
                isIncomplete = true
                continue
            }
            for definition in document.definitions {
                switch definition {
                case .operation(let operation): add(operation, in: file, &sink)
                case .fragment(let fragment): add(fragment, in: file, api: api, &sink)
                case .schema, .scalar, .object, .interface, .union, .enum, .inputObject, .directive:
                    sink.report(
                        .error, rule: .executableDefinitions, at: definition.range, in: file,
                        "a connector contains only queries, mutations and fragments; types belong in the schema")
                }
            }
        }
        markCycles(&sink)
    }

    private mutating func add(_ operation: OperationDefinition, in file: SourceFile, _ sink: inout DiagnosticSink) {
        guard let name = operation.name else {
            sink.report(
                .error, rule: .anonymousOperation, at: operation.range, in: file,
                "an operation of a connector needs a name", help: "clients run it by name")
            return
        }
        if operation.kind == .subscription {
            sink.report(
                .error, rule: .noSubscriptions, at: name.range, in: file,
                "subscription operations are not supported",
                help: "write it as a query: clients can subscribe to every query")
            return
        }
        if name.value.hasPrefix(Self.reservedPrefix) {
            sink.report(
                .error, rule: .operationName, at: name.range, in: file,
                "names that begin with \"_\" are reserved")
        }
        if let other = operations.first(where: { $0.name.value == name.value }) {
            let location = other.file.location(at: other.name.range.start)
            sink.report(
                .error, rule: .uniqueOperationName, at: name.range, in: file,
                "operation \"\(name.value)\" is declared more than once in this connector",
                help: "the other one is at \(other.file.path):\(location)")
            return
        }
        operations.append(Operation(definition: operation, name: name, file: file))
    }

    private mutating func add(
        _ fragment: FragmentDefinition, in file: SourceFile, api: GeneratedAPI, _ sink: inout DiagnosticSink
    ) {
        let name = fragment.name
        if fragments[name.value] != nil {
            sink.report(
                .error, rule: .uniqueFragmentName, at: name.range, in: file,
                "fragment \"\(name.value)\" is declared more than once in this connector")
            return
        }
        if !api.outputTypes.contains(fragment.typeCondition.value), !sink.isSuppressed(fragment.typeCondition.value) {
            sink.report(
                .error, rule: .unknownType, at: fragment.typeCondition.range, in: file,
                "unknown type \"\(fragment.typeCondition.value)\"",
                help: DidYouMean.help(fragment.typeCondition.value, among: api.outputTypes.sorted()))
        }
        // `@check` is evaluated where the fragment is spread.
        for directive in fragment.directives {
            directive.checkArguments(in: file, &sink)
            if directive.name.value == "check" { continue }
            sink.report(
                .error, rule: .unknownDirective, at: directive.range, in: file,
                "@\(directive.name.value) is not supported on fragment definitions")
        }
        fragments[name.value] = Fragment(definition: fragment, file: file)
    }

    /// Marks cyclic fragments by depth-first search: meeting a fragment that is still open closes a cycle.
    private mutating func markCycles(_ sink: inout DiagnosticSink) {
        enum Mark { case open, closed }
        var marks: [String: Mark] = [:]
        let spreads = fragments.mapValues { Self.spreads(in: $0.definition.selectionSet) }
        var cyclic: Set<String> = []

        func visit(_ name: String, path: [String]) {
            marks[name] = .open
            for spread in spreads[name] ?? [] {
                let target = spread.name.value
                switch marks[target] {
                case .closed: continue
                case .open:
                    let cycle = path.drop { $0 != target } + [target]
                    cyclic.formUnion(cycle)
                    if let file = fragments[name]?.file {
                        sink.report(
                            .error, rule: .fragmentCycle, at: spread.range, in: file,
                            "fragment \"\(target)\" includes itself: \(cycle.joined(separator: " → "))")
                    }
                case nil:
                    if fragments[target] != nil { visit(target, path: path + [target]) }
                }
            }
            marks[name] = .closed
        }

        for name in fragments.keys.sorted() where marks[name] == nil { visit(name, path: [name]) }
        for name in cyclic { fragments[name]?.isCyclic = true }
    }

    private static func spreads(in set: SelectionSet) -> [FragmentSpread] {
        set.selections.flatMap { selection -> [FragmentSpread] in
            switch selection {
            case .field(let field): field.selectionSet.map(spreads(in:)) ?? []
            case .inlineFragment(let fragment): spreads(in: fragment.selectionSet)
            case .fragmentSpread(let spread): [spread]
            }
        }
    }
}
