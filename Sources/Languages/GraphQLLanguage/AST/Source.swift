/// A text to parse: its name for diagnostics (a file path, or "request") and its bytes, expected to be UTF-8.
package struct Source: Sendable {
    package let name: String
    package let bytes: [UInt8]

    package init(name: String, bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
    }

    package init(name: String = "GraphQL", text: String) {
        self.init(name: name, bytes: Array(text.utf8))
    }

    /// Returns the line and column of a byte offset in one scan from the start. Use a `SourceMap` for many lookups.
    package func location(at byteOffset: Int) -> SourceLocation {
        SourceMap(self).location(at: byteOffset)
    }
}

/// A position in a source. Lines and columns are 1-based, columns in Unicode scalars; `byteOffset` is 0-based.
package struct SourceLocation: Sendable, Hashable, CustomStringConvertible {
    package let line: Int
    package let column: Int
    package let byteOffset: Int

    package init(line: Int, column: Int, byteOffset: Int) {
        self.line = line
        self.column = column
        self.byteOffset = byteOffset
    }

    package var description: String { "\(line):\(column)" }
}

/// The byte range that a node was parsed from, `end` exclusive.
package struct SourceRange: Sendable, Hashable {
    package let start: Int
    package let end: Int

    package init(start: Int, end: Int) {
        self.start = start
        self.end = end
    }

    /// The range of a node that was constructed rather than parsed.
    package static let none = SourceRange(start: 0, end: 0)

    package var isEmpty: Bool { start == end }
}

/// The line starts of a source, computed once, so that a lookup costs a binary search and the scan of one line.
///
/// A line ends with `\n`, `\r\n` or a lone `\r` (specification, section 2.1.2, LineTerminator).
package struct SourceMap: Sendable {
    private let bytes: [UInt8]
    /// Byte offset of the first byte of each line; never empty.
    private let lineStarts: [Int]

    package init(_ source: Source) {
        bytes = source.bytes
        var starts = [0]
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            if byte == 0x0A {
                starts.append(index)
            } else if byte == 0x0D {
                if index < bytes.count, bytes[index] == 0x0A { index += 1 }
                starts.append(index)
            }
        }
        lineStarts = starts
    }

    /// Returns the line and column of a byte offset; offsets past the end are clamped to it.
    package func location(at byteOffset: Int) -> SourceLocation {
        let offset = min(max(byteOffset, 0), bytes.count)
        var low = 0
        var high = lineStarts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if lineStarts[middle] <= offset { low = middle } else { high = middle }
        }
        var column = 1
        for index in lineStarts[low]..<offset where bytes[index] & 0xC0 != 0x80 {
            column += 1
        }
        return SourceLocation(line: low + 1, column: column, byteOffset: offset)
    }

    package func location(of range: SourceRange) -> SourceLocation {
        location(at: range.start)
    }
}
