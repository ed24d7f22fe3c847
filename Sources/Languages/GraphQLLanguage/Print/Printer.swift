/// Prints nodes as text that parses back to the same nodes, apart from positions.
///
/// - `pretty`: canonical layout, two spaces of indentation, block strings kept, a blank line between definitions.
/// - `compact`: the fewest characters on one line, strings always quoted. Two nodes have equal compact texts exactly
///   when they differ only in positions, layout and the quoting of strings.
///
/// Comments are not part of the tree and are lost.
package struct Printer: Sendable {
    package enum Style: Sendable {
        case pretty, compact
    }

    let style: Style
    private(set) var text = ""
    private var indentation = ""
    /// False where `{` would be parsed as the fields of the preceding definition.
    var allowsShorthand = true

    private init(_ style: Style) {
        self.style = style
    }

    private static func print(_ style: Style, _ body: (inout Printer) -> Void) -> String {
        var printer = Printer(style)
        body(&printer)
        return printer.text
    }

    /// Prints a document; the pretty text ends with a line feed.
    package static func print(_ document: Document, style: Style = .pretty) -> String {
        print(style) { $0.document(document) }
    }

    package static func print(_ definition: Definition, style: Style = .pretty) -> String {
        print(style) { $0.definition(definition) }
    }

    package static func print(_ selectionSet: SelectionSet, style: Style = .pretty) -> String {
        print(style) { $0.selectionSet(selectionSet) }
    }

    package static func print(_ value: Value, style: Style = .pretty) -> String {
        print(style) { $0.value(value) }
    }

    package static func print(_ directive: Directive, style: Style = .pretty) -> String {
        print(style) { $0.directives([directive]) }
    }
}

extension Value: CustomStringConvertible {
    /// The compact text.
    package var description: String { Printer.print(self, style: .compact) }
}

extension Document: CustomStringConvertible {
    /// The pretty text.
    package var description: String { Printer.print(self) }
}

// MARK: Primitives
extension Printer {
    /// Appends a token, separated by a space if it would merge with the previous one.
    mutating func emit(_ token: String) {
        if let last = text.utf8.last, let first = token.utf8.first, Self.runTogether(last, first) { text += " " }
        text += token
    }

    /// Appends a space in pretty style only.
    mutating func space() {
        if style == .pretty { text += " " }
    }

    mutating func newLine() {
        if style == .pretty { text += "\n" + indentation }
    }

    mutating func blankLine() {
        if style == .pretty { text += "\n\n" + indentation }
    }

    mutating func indented(_ body: (inout Printer) -> Void) {
        indentation += "  "
        body(&self)
        indentation.removeLast(2)
    }

    /// Prints comma-separated items between punctuators, on one line.
    mutating func inline<Item>(
        _ open: String, _ items: [Item], _ close: String, _ print: (inout Printer, Item) -> Void
    ) {
        emit(open)
        for (number, item) in items.enumerated() {
            if number > 0 {
                emit(",")
                space()
            }
            print(&self, item)
        }
        emit(close)
    }

    /// Prints items between punctuators, one per line.
    mutating func lines<Item>(
        _ open: String, _ items: [Item], _ close: String, _ print: (inout Printer, Item) -> Void
    ) {
        emit(open)
        indented { printer in
            for item in items {
                printer.newLine()
                print(&printer, item)
            }
        }
        newLine()
        emit(close)
    }

    mutating func string(_ value: String, isBlock: Bool) {
        if style == .pretty, isBlock, let raw = BlockString.raw(for: value, indent: indentation) {
            emit("\"\"\"\(raw)\"\"\"")
        } else {
            emit(Self.quoted(value))
        }
    }

    mutating func description(_ description: Description?) {
        guard let description else { return }
        string(description.value, isBlock: description.isBlock)
        newLine()
    }

    private static func quoted(_ value: String) -> String {
        var quoted = "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\u{8}": quoted += "\\b"
            case "\u{9}": quoted += "\\t"
            case "\u{A}": quoted += "\\n"
            case "\u{C}": quoted += "\\f"
            case "\u{D}": quoted += "\\r"
            case "\u{0}"..."\u{1F}", "\u{7F}":
                let digits = String(scalar.value, radix: 16, uppercase: true)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    /// Returns whether two tokens would merge: two names or numbers, or two strings (`"" "x"` would open a block
    /// string).
    private static func runTogether(_ last: UInt8, _ first: UInt8) -> Bool {
        isNamePart(last) && isNamePart(first) || last == UInt8(ascii: "\"") && first == UInt8(ascii: "\"")
    }

    private static func isNamePart(_ byte: UInt8) -> Bool {
        Lexer.isNameStart(byte) || Lexer.isDigit(byte)
    }
}
