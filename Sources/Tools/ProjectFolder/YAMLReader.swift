import SchemaModel
import Yams

/// Parses YAML into `ConfigurationNode`.
enum YAMLReader {
    /// The deepest nesting of a document.
    static let depthMax = 32

    /// Parses a file; nil if a problem was reported.
    static func read(_ file: SourceFile, sink: inout DiagnosticSink) -> ConfigurationNode? {
        do {
            let root = try Yams.compose(yaml: file.text)
            guard let root else {
                sink.report(.error, rule: .yaml, in: file, "the file is empty")
                return nil
            }
            return try convert(root, depth: 0)
        } catch let error as YamlError {
            let (message, mark) = describe(error)
            if let mark {
                sink.report(
                    .error, rule: .yaml, at: file.range(line: mark.line, column: mark.column), in: file,
                    "invalid YAML: \(message)")
            } else {
                sink.report(.error, rule: .yaml, in: file, "invalid YAML: \(message)")
            }
        } catch {
            sink.report(.error, rule: .yaml, in: file, "nested deeper than \(depthMax)")
        }
        return nil
    }

    private struct TooDeep: Error {}

    private static func convert(_ node: Node, depth: Int) throws -> ConfigurationNode {
        guard depth <= depthMax else { throw TooDeep() }
        let line = node.mark?.line ?? 1
        let column = node.mark?.column ?? 1
        switch node {
        case .scalar(let scalar):
            let isNull = scalar.style == .plain && ["", "~", "null", "Null", "NULL"].contains(scalar.string)
            return ConfigurationNode(isNull ? .null : .scalar(scalar.string), line: line, column: column)
        case .sequence(let sequence):
            return ConfigurationNode(
                .sequence(try sequence.map { try convert($0, depth: depth + 1) }), line: line, column: column)
        case .mapping(let mapping):
            let entries = try mapping.map { key, value in
                ConfigurationNode.Entry(
                    key: try convert(key, depth: depth + 1), value: try convert(value, depth: depth + 1))
            }
            return ConfigurationNode(.mapping(entries), line: line, column: column)
        case .alias:
            // `compose` resolves aliases; a remaining one has no target.
            return ConfigurationNode(.null, line: line, column: column)
        }
    }

    private static func describe(_ error: YamlError) -> (message: String, mark: Mark?) {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            (problem, mark)
        case .duplicatedKeysInMapping(let duplicates, let context):
            ("\(duplicates.first.map { "\($0)" } ?? "a key") is given more than once", context.mark)
        default: ("\(error)", nil)
        }
    }
}
