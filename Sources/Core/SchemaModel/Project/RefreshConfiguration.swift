/// The content of a project's `refresh.yaml`, which other tools do not read.
///
///     automatic: lists
///     source: both
///     operations:
///       auctions/Top*: {automatic: all}
package enum RefreshConfiguration {
    package static let fileName = "refresh.yaml"

    /// Reports all problems; returns nil after an error.
    package static func read(
        _ root: ConfigurationNode, in file: SourceFile, sink: inout DiagnosticSink
    ) -> AutomaticRefresh? {
        let errors = sink.count(of: .error)
        var reader = ConfigurationReader(root, in: file, sink: &sink)
        var result = AutomaticRefresh(mode: mode(&reader, path: "", sink: &sink) ?? .off)
        if let source: AutomaticRefresh.Source = choice("source", of: &reader, path: "", sink: &sink) {
            result.source = source
        }
        if let operations = reader.node("operations") {
            result.overrides = overrides(operations, in: file, sink: &sink)
        }
        reader.finish(sink: &sink)
        return sink.count(of: .error) == errors ? result : nil
    }

    private static func overrides(
        _ node: ConfigurationNode, in file: SourceFile, sink: inout DiagnosticSink
    ) -> [AutomaticRefresh.Override] {
        // Reports what is not a mapping, and patterns that are given more than once.
        _ = ConfigurationReader(node, path: "operations", in: file, sink: &sink)
        guard case .mapping(let entries) = node.kind else { return [] }
        return entries.compactMap { entry in
            guard let pattern = entry.key.scalar else { return nil }
            let path = "operations.\(pattern)"
            if !pattern.contains("/"), pattern != "*" {
                sink.report(
                    .error, rule: .configurationValue, at: entry.key, in: file,
                    "\"\(pattern)\" must be a connector and an operation, as in \"main/List*\"")
            }
            var reader = ConfigurationReader(entry.value, path: path, in: file, sink: &sink)
            guard case .mapping = entry.value.kind else { return nil }
            let mode = mode(&reader, path: path, sink: &sink)
            reader.finish(sink: &sink)
            return mode.map { AutomaticRefresh.Override(pattern: pattern, mode: $0) }
        }
    }

    private static func mode(
        _ reader: inout ConfigurationReader, path: String, sink: inout DiagnosticSink
    ) -> AutomaticRefresh.Mode? {
        // YAML's own words for a switch that is off.
        choice("automatic", of: &reader, path: path, also: ["false": .off, "no": .off], sink: &sink)
    }

    private static func choice<Choice: CaseIterable & RawRepresentable<String>>(
        _ key: String, of reader: inout ConfigurationReader, path: String, also: [String: Choice] = [:],
        sink: inout DiagnosticSink
    ) -> Choice? {
        guard let text = reader.text(key, sink: &sink), let node = reader.node(key) else { return nil }
        if let choice = Choice(rawValue: text) ?? also[text.lowercased()] { return choice }
        let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        sink.report(
            .error, rule: .configurationValue, at: node, in: reader.file,
            "\"\(path.isEmpty ? "" : path + ".")\(key)\" is \"\(text)\", allowed is \(names)")
        return nil
    }
}
