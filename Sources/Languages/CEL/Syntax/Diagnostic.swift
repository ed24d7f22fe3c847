/// A problem found in a source, with its location.
package struct Diagnostic: Sendable, Hashable, CustomStringConvertible {
    package let message: String
    /// 1-based.
    package let line: Int
    /// 1-based, in Unicode code points.
    package let column: Int
    /// UTF-8 bytes from the start of the source.
    package let offset: Int

    package var description: String { "\(line):\(column): \(message)" }

    init(message: String, offset: Int, source: String) {
        self.message = message
        self.offset = offset
        var line = 1
        var column = 1
        for byte in source.utf8.prefix(offset) {
            if byte == UInt8(ascii: "\n") {
                line += 1
                column = 1
            } else if byte & 0xC0 != 0x80 {
                column += 1
            }
        }
        self.line = line
        self.column = column
    }
}

/// The error thrown for a source that does not compile.
package struct CompileFailure: Error, Sendable, CustomStringConvertible {
    /// Never empty; sorted by position.
    package let diagnostics: [Diagnostic]

    package var description: String {
        diagnostics.map(\.description).joined(separator: "\n")
    }
}
