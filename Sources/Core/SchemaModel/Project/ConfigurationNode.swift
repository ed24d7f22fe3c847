/// A YAML value with its location, as a YAML reader supplies it: this module does not parse YAML.
package struct ConfigurationNode: Sendable {
    package enum Kind: Sendable {
        case null
        case scalar(String)
        case sequence([ConfigurationNode])
        case mapping([Entry])
    }

    package struct Entry: Sendable {
        package var key: ConfigurationNode
        package var value: ConfigurationNode

        package init(key: ConfigurationNode, value: ConfigurationNode) {
            self.key = key
            self.value = value
        }
    }

    package var kind: Kind
    /// 1-based.
    package var line: Int
    /// 1-based, in Unicode scalars.
    package var column: Int

    package init(_ kind: Kind, line: Int, column: Int) {
        self.kind = kind
        self.line = line
        self.column = column
    }

    package var scalar: String? {
        if case .scalar(let text) = kind { text } else { nil }
    }

    /// The kind as messages name it.
    package var kindName: String {
        switch kind {
        case .null: "nothing"
        case .scalar: "a string"
        case .sequence: "a list"
        case .mapping: "a mapping"
        }
    }
}

/// Reads the keys of a YAML mapping. `finish` warns about keys that were not read.
package struct ConfigurationReader {
    package let file: SourceFile
    private let node: ConfigurationNode
    private let path: String
    private var entries: [(key: ConfigurationNode, value: ConfigurationNode)] = []
    private var known: [String] = []

    /// - Parameter path: the path of the mapping, for messages: `schema.datasource`; empty at the top level.
    package init(_ node: ConfigurationNode, path: String = "", in file: SourceFile, sink: inout DiagnosticSink) {
        self.file = file
        self.node = node
        self.path = path
        guard case .mapping(let entries) = node.kind else {
            sink.report(
                .error, rule: .configurationType, at: node, in: file,
                "\(path.isEmpty ? "the file" : "\"\(path)\"") must be a mapping, but is \(node.kindName)")
            return
        }
        for entry in entries {
            let key = entry.key.scalar ?? ""
            if self.entries.contains(where: { $0.key.scalar == key }) {
                sink.report(
                    .error, rule: .configurationRepeated, at: entry.key, in: file,
                    "\"\(full(key))\" is given more than once")
            } else {
                self.entries.append((entry.key, entry.value))
            }
        }
    }

    package mutating func node(_ key: String) -> ConfigurationNode? {
        known.append(key)
        let value = entries.first { $0.key.scalar == key }?.value
        if case .null? = value?.kind { return nil }
        return value
    }

    /// Reads a string; any non-empty scalar is one.
    package mutating func text(_ key: String, isRequired: Bool = false, sink: inout DiagnosticSink) -> String? {
        guard let value = node(key) else {
            if isRequired {
                sink.report(
                    .error, rule: .configurationMissing, at: node, in: file, "\"\(full(key))\" is missing")
            }
            return nil
        }
        guard let text = value.scalar, !text.isEmpty else {
            sink.report(
                .error, rule: .configurationType, at: value, in: file,
                "\"\(full(key))\" must be a string, but is \(value.scalar == nil ? value.kindName : "empty")")
            return nil
        }
        return text
    }

    /// Reads a list; a single scalar counts as a list with one item.
    package mutating func list(_ key: String, sink: inout DiagnosticSink) -> [ConfigurationNode]? {
        guard let value = node(key) else { return nil }
        switch value.kind {
        case .sequence(let items): return items
        case .scalar: return [value]
        case .null, .mapping:
            sink.report(
                .error, rule: .configurationType, at: value, in: file,
                "\"\(full(key))\" must be a list, but is \(value.kindName)")
            return nil
        }
    }

    /// Marks keys as known that belong to the format but have no effect.
    package mutating func ignore(_ keys: String...) {
        known += keys
    }

    /// Warns about keys that were not read.
    package func finish(sink: inout DiagnosticSink) {
        for entry in entries {
            let key = entry.key.scalar ?? ""
            guard !known.contains(key) else { continue }
            sink.report(
                .warning, rule: .configurationUnknown, at: entry.key, in: file, "unknown key \"\(full(key))\"",
                help: DidYouMean.help(key, among: known))
        }
    }

    private func full(_ key: String) -> String {
        path.isEmpty ? key : "\(path).\(key)"
    }
}

extension DiagnosticSink {
    package mutating func report(
        _ severity: Diagnostic.Severity, rule: Diagnostic.Rule, at node: ConfigurationNode, in file: SourceFile,
        _ message: String, help: String? = nil
    ) {
        report(
            severity, rule: rule,
            at: file.range(
                line: node.line, column: node.column, length: max(1, node.scalar?.unicodeScalars.count ?? 1)),
            in: file, message, help: help)
    }
}
