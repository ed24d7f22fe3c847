package import GraphQLLanguage

/// A text file of a project, in memory, with an index for locating positions in it.
package struct SourceFile: Sendable {
    /// The path as the user would type it, for diagnostics.
    package let path: String
    /// The source for the GraphQL parser, named `path`.
    package let source: Source
    private let map: SourceMap

    package init(path: String, text: String) {
        self.init(path: path, bytes: Array(text.utf8))
    }

    package init(path: String, bytes: [UInt8]) {
        self.path = path
        source = Source(name: path, bytes: bytes)
        map = SourceMap(source)
    }

    /// The whole text, with ill-formed UTF-8 repaired.
    package var text: String { String(decoding: source.bytes, as: UTF8.self) }

    /// Returns the text of a range, for messages and for storing sources.
    package func text(of range: SourceRange) -> String {
        let end = min(max(range.end, 0), source.bytes.count)
        let start = min(max(range.start, 0), end)
        return String(decoding: source.bytes[start..<end], as: UTF8.self)
    }

    package func location(at byteOffset: Int) -> SourceLocation {
        map.location(at: byteOffset)
    }

    /// Returns the range of some scalars on a line, for readers that only report lines and columns. Positions outside
    /// the text are clamped.
    package func range(line: Int, column: Int, length: Int = 1) -> SourceRange {
        let bytes = source.bytes
        var offset = 0
        for _ in 1..<max(line, 1) {
            guard let end = bytes[offset...].firstIndex(of: 0x0A) else { break }
            offset = end + 1
        }
        let lineEnd = lineBytes(around: offset).upperBound
        func advance(_ offset: Int, by scalars: Int) -> Int {
            var offset = offset
            for _ in 0..<max(scalars, 0) where offset < lineEnd {
                offset += 1
                while offset < lineEnd, bytes[offset] & 0xC0 == 0x80 { offset += 1 }
            }
            return offset
        }
        let start = advance(offset, by: column - 1)
        return SourceRange(start: start, end: advance(start, by: length))
    }

    /// Returns the bytes of the line that contains an offset, without its line terminator.
    private func lineBytes(around byteOffset: Int) -> Range<Int> {
        let bytes = source.bytes
        let offset = min(max(byteOffset, 0), bytes.count)
        let isBreak = { (byte: UInt8) in byte == 0x0A || byte == 0x0D }
        let start = bytes[..<offset].lastIndex(where: isBreak).map { $0 + 1 } ?? 0
        let end = bytes[offset...].firstIndex(where: isBreak) ?? bytes.count
        return start..<end
    }

    /// Creates a diagnostic at a range. A range over several lines is marked up to the end of its first line.
    package func diagnostic(
        _ severity: Diagnostic.Severity, rule: Diagnostic.Rule, at range: SourceRange, _ message: String,
        help: String? = nil
    ) -> Diagnostic {
        let start = location(at: range.start)
        let line = lineBytes(around: start.byteOffset)
        let end = min(max(range.end, start.byteOffset), line.upperBound)
        let marked = source.bytes[start.byteOffset..<max(end, start.byteOffset)]
        return Diagnostic(
            severity: severity, rule: rule, message: message, file: path, line: start.line, column: start.column,
            length: max(1, marked.count { $0 & 0xC0 != 0x80 }),
            sourceLine: String(decoding: source.bytes[line], as: UTF8.self), help: help)
    }

    /// Creates a diagnostic about the file as a whole.
    package func diagnostic(
        _ severity: Diagnostic.Severity, rule: Diagnostic.Rule, _ message: String, help: String? = nil
    ) -> Diagnostic {
        Diagnostic(severity: severity, rule: rule, message: message, file: path, line: 0, column: 0, help: help)
    }
}

/// A range in a file.
package struct FileRange: Sendable {
    package let range: SourceRange
    package let file: SourceFile

    package init(range: SourceRange, file: SourceFile) {
        self.range = range
        self.file = file
    }
}
