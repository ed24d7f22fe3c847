import GraphQLLanguage
import SchemaModel

/// A comment above an operation that sets its automatic refresh, and which other tools ignore:
///
///     # freshet: refresh automatic
///     query ListLots … { … }
///
/// `automatic` stands for all, as in `refresh.yaml`; so do the other modes for themselves.
struct RefreshComment {
    private static let mark = "freshet:"

    /// Returns the mode that the comments directly above a position set; nil if they set none.
    static func mode(
        above start: Int, in file: SourceFile, sink: inout DiagnosticSink
    ) -> AutomaticRefresh.Mode? {
        let text = file.source.bytes
        var lineEnd = min(start, text.count)
        var mode: AutomaticRefresh.Mode?
        // The line of the operation itself begins the walk upwards.
        while lineEnd > 0, text[lineEnd - 1] != UInt8(ascii: "\n") { lineEnd -= 1 }
        while lineEnd > 0 {
            var lineStart = lineEnd - 1
            while lineStart > 0, text[lineStart - 1] != UInt8(ascii: "\n") { lineStart -= 1 }
            let line = String(decoding: text[lineStart..<lineEnd], as: UTF8.self).trimmed
            guard line.hasPrefix("#") else { break }
            let words = line.drop { $0 == "#" }.split(whereSeparator: \.isWhitespace)
            if let first = words.first, first == mark, words.dropFirst().first.map(String.init) != RedactComment.word {
                let found = self.mode(words.dropFirst())
                if found == nil {
                    sink.report(
                        .warning, rule: .configurationValue, at: SourceRange(start: lineStart, end: lineEnd - 1),
                        in: file,
                        "Freshet knows no comment \"\(line)\"; it may be \"# freshet: refresh MODE\" with "
                            + (["automatic"] + AutomaticRefresh.Mode.allCases.map(\.rawValue)).joined(separator: ", "))
                }
                // The nearest decides.
                mode = mode ?? found
            }
            lineEnd = lineStart
        }
        return mode
    }

    private static func mode(_ words: ArraySlice<Substring>) -> AutomaticRefresh.Mode? {
        guard words.count == 2, words.first == "refresh", let word = words.last else { return nil }
        return word == "automatic" ? .all : AutomaticRefresh.Mode(rawValue: String(word))
    }
}

extension String {
    fileprivate var trimmed: Substring {
        var rest = self[...]
        while rest.first?.isWhitespace == true { rest.removeFirst() }
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return rest
    }
}
