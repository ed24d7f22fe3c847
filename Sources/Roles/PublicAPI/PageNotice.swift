package import SchemaModel

/// The notice at the top of the page of `freshet dev` about operations that are not served because they do not compile.
package enum PageNotice {
    private static let errorsMax = 20
    private static let body = Array("<body>".utf8)

    /// Returns the page with a notice after its `<body>`; the page itself if there are no such operations.
    package static func insert(into page: [UInt8], operations: [String], errors: [Diagnostic]) -> [UInt8] {
        guard !operations.isEmpty, let start = page.firstRange(of: body)?.upperBound else { return page }
        let lines = errors.prefix(errorsMax).map { "\($0.file):\($0.line):\($0.column): \($0.message)" }
        let names = operations.joined(separator: ", ")
        let notice = """

            <div class="card error" role="alert">Not served, because of errors: \(escape(names))
            <pre>\(escape(lines.joined(separator: "\n")))</pre></div>
            """
        return Array(page[..<start]) + Array(notice.utf8) + Array(page[start...])
    }

    private static func escape(_ text: String) -> String {
        text.reduce(into: "") { escaped, character in
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            default: escaped.append(character)
            }
        }
    }
}
