package import GraphQLLanguage

/// Parses project files. A file that fails to parse yields one diagnostic, and the others are still read.
package enum DocumentReader {
    /// Returns nil after a syntax error. A file of only white space and comments is a document without definitions.
    package static func parse(_ file: SourceFile, sink: inout DiagnosticSink) -> Document? {
        if isBlank(file) { return Document(definitions: []) }
        do {
            return try Parser.parseDocument(file.source)
        } catch {
            let offset = error.location.byteOffset
            let range = SourceRange(start: offset, end: offset + 1)
            if let open = OpenDefinition.find(in: file.source.bytes, before: offset) {
                sink.report(
                    .error, rule: .syntax, at: open.range, in: file, "\(open.text) is not closed: a \"}\" is missing",
                    help: "it ends at the latest before \(error.location): \(error.message)")
            } else {
                sink.report(.error, rule: .syntax, at: range, in: file, error.message)
            }
            return nil
        }
    }

    private static func isBlank(_ file: SourceFile) -> Bool {
        var isInComment = false
        for (index, byte) in file.source.bytes.enumerated() {
            switch byte {
            case 0x0A, 0x0D: isInComment = false
            case _ where isInComment: break
            case UInt8(ascii: "#"): isInComment = true
            case 0x09, 0x20, UInt8(ascii: ","): break
            // A byte order mark, which is allowed only at the start.
            case 0xEF where index == 0, 0xBB where index == 1, 0xBF where index == 2: break
            default: return false
            }
        }
        return true
    }
}
