/// A YAML value with its place; what a YAML reader hands over, so that the rules below need none.
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
    /// From 1.
    package var line: Int
    /// From 1, in Unicode scalars.
    package var column: Int

    package init(_ kind: Kind, line: Int, column: Int) {
        self.kind = kind
        self.line = line
        self.column = column
    }

    var scalar: String? {
        if case .scalar(let text) = kind { text } else { nil }
    }

    /// For messages.
    var kindName: String {
        switch kind {
        case .null: "nothing"
        case .scalar: "a text"
        case .sequence: "a list"
        case .mapping: "a mapping"
        }
    }
}

/// Reads the keys of one YAML mapping. Keys that nobody asked for are reported as warnings by `finish`.
struct ConfigurationReader {
    let file: SourceFile
    private let node: ConfigurationNode
    private let path: String
    private var entries: [(key: ConfigurationNode, value: ConfigurationNode)] = []
    private var known: [String] = []

    /// `path` is where the mapping stands, for messages: `schema.datasource`; empty at the top.
    init(_ node: ConfigurationNode, path: String = "", in file: SourceFile, sink: inout DiagnosticSink) {
        self.file = file
        self.node = node
        self.path = path
        guard case .mapping(let entries) = node.kind else {
            sink.report(
                .error, rule: "configuration-type", at: node, in: file,
                "\(path.isEmpty ? "the file" : "\"\(path)\"") must be a mapping, but is \(node.kindName)")
            return
        }
        for entry in entries {
            let key = entry.key.scalar ?? ""
            if self.entries.contains(where: { $0.key.scalar == key }) {
                sink.report(
                    .error, rule: "configuration-repeated", at: entry.key, in: file,
                    "\"\(full(key))\" is given more than once")
            } else {
                self.entries.append((entry.key, entry.value))
            }
        }
    }

    mutating func node(_ key: String) -> ConfigurationNode? {
        known.append(key)
        let value = entries.first { $0.key.scalar == key }?.value
        if case .null? = value?.kind { return nil }
        return value
    }

    /// A text; a number or a word is one too.
    mutating func text(_ key: String, isRequired: Bool = false, sink: inout DiagnosticSink) -> String? {
        guard let value = node(key) else {
            if isRequired {
                sink.report(
                    .error, rule: "configuration-missing", at: node, in: file, "\"\(full(key))\" is missing")
            }
            return nil
        }
        guard let text = value.scalar, !text.isEmpty else {
            sink.report(
                .error, rule: "configuration-type", at: value, in: file,
                "\"\(full(key))\" must be a text, but is \(value.scalar == nil ? value.kindName : "empty")")
            return nil
        }
        return text
    }

    /// The items of a list; a single value is a list of one.
    mutating func list(_ key: String, sink: inout DiagnosticSink) -> [ConfigurationNode]? {
        guard let value = node(key) else { return nil }
        switch value.kind {
        case .sequence(let items): return items
        case .scalar: return [value]
        case .null, .mapping:
            sink.report(
                .error, rule: "configuration-type", at: value, in: file,
                "\"\(full(key))\" must be a list, but is \(value.kindName)")
            return nil
        }
    }

    /// Keys that are part of the format but mean nothing here.
    mutating func ignore(_ keys: String...) {
        known += keys
    }

    func finish(sink: inout DiagnosticSink) {
        for entry in entries {
            let key = entry.key.scalar ?? ""
            guard !known.contains(key) else { continue }
            sink.report(
                .warning, rule: "configuration-unknown", at: entry.key, in: file, "unknown key \"\(full(key))\"",
                help: DidYouMean.help(key, among: known))
        }
    }

    private func full(_ key: String) -> String {
        path.isEmpty ? key : "\(path).\(key)"
    }
}

extension DiagnosticSink {
    mutating func report(
        _ severity: Diagnostic.Severity, rule: String, at node: ConfigurationNode, in file: SourceFile,
        _ message: String, help: String? = nil
    ) {
        report(
            severity, rule: rule,
            at: file.range(
                line: node.line, column: node.column, length: max(1, node.scalar?.unicodeScalars.count ?? 1)),
            in: file, message, help: help)
    }
}
