/// Reads `datasource.httpGraphql` of a schema. Source: docs/reference/sql-connect.md §5.2, "Custom resolvers".
enum ResolverConfiguration {
    /// Returns nil after reporting a problem.
    static func read(
        _ node: ConfigurationNode, id: String, path: String, in file: SourceFile, sink: inout DiagnosticSink
    ) -> ResolverEndpoint? {
        var reader = ConfigurationReader(node, path: path, in: file, sink: &sink)
        guard case .mapping = node.kind else { return nil }
        let uri = reader.text("uri", isRequired: true, sink: &sink)
        let timeout = reader.text("timeout", sink: &sink)
        let uriNode = reader.node("uri") ?? node
        let timeoutNode = reader.node("timeout") ?? node
        reader.finish(sink: &sink)
        guard let uri else { return nil }
        guard uri.hasPrefix("http://") || uri.hasPrefix("https://"), uri.split(separator: "/").count >= 2,
            uri.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            sink.report(
                .error, rule: .configurationType, at: uriNode, in: file,
                "\"\(path).uri\" must be a URL that begins with http:// or https://")
            return nil
        }
        var timeoutMs = ResolverEndpoint.timeoutDefaultMs
        if let timeout {
            guard let given = milliseconds(timeout), ResolverEndpoint.timeoutMs.contains(given) else {
                sink.report(
                    .error, rule: .configurationType, at: timeoutNode, in: file,
                    "\"\(path).timeout\" must be a duration up to 600 s, such as 5s or 500ms")
                return nil
            }
            timeoutMs = given
        }
        return ResolverEndpoint(id: id, uri: uri, timeoutMs: timeoutMs)
    }

    /// Parses a duration such as `30s`, `1.5s`, `500ms` or `2m`; a plain number counts seconds.
    static func milliseconds(_ text: String) -> Int? {
        let units: [(suffix: String, ms: Double)] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("", 1_000)]
        guard let unit = units.first(where: { text.hasSuffix($0.suffix) }),
            let number = Double(text.dropLast(unit.suffix.count)), number.isFinite, (0...1_000_000).contains(number)
        else { return nil }
        return Int(number * unit.ms)
    }
}
