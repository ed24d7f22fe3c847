/// Removes members from a JSON text, or replaces them with null, and leaves the rest unchanged: numbers and strings
/// keep the bytes that Postgres wrote. The text must be valid JSON.
package enum JSONRedaction {
    /// The members to remove or replace, by key, and those below the kept members; lists are traversed transparently.
    package struct Tree: Sendable {
        var removed: Set<String> = []
        var nulled: Set<String> = []
        var below: [String: Tree] = [:]

        var isEmpty: Bool { removed.isEmpty && nulled.isEmpty && below.isEmpty }
    }

    package static func strip(_ bytes: [UInt8], _ tree: Tree) -> [UInt8] {
        if tree.isEmpty { return bytes }
        return bytes.withUnsafeBufferPointer { bytes in
            var scanner = Scanner(bytes: bytes)
            scanner.output.reserveCapacity(bytes.count)
            scanner.copyValue(tree)
            return scanner.output
        }
    }

    private struct Scanner {
        var text: JSONTextScanner
        var output: [UInt8] = []

        init(bytes: UnsafeBufferPointer<UInt8>) { text = JSONTextScanner(bytes) }

        mutating func copyValue(_ tree: Tree) {
            text.skipBlanks()
            switch text.byte {
            case UInt8(ascii: "{") where !tree.isEmpty: copyObject(tree)
            case UInt8(ascii: "[") where !tree.isEmpty: copyArray(tree)
            default: output.append(contentsOf: text.takeValue())
            }
        }

        mutating func copyArray(_ tree: Tree) {
            output.append(text.take())
            text.skipBlanks()
            while !text.isAtEnd, text.byte != UInt8(ascii: "]") {
                copyValue(tree)
                text.skipBlanks()
                if text.byte == UInt8(ascii: ",") { output.append(text.take()) }
                text.skipBlanks()
            }
            output.append(UInt8(ascii: "]"))
            _ = text.take()
        }

        mutating func copyObject(_ tree: Tree) {
            output.append(text.take())
            var isFirst = true
            text.skipBlanks()
            while !text.isAtEnd, text.byte != UInt8(ascii: "}") {
                let key = text.takeValue()
                // Relevant keys are response keys, which contain no escapes.
                let name = String(decoding: key.dropFirst().dropLast(), as: UTF8.self)
                text.skipBlanks()
                _ = text.take()  // the colon
                if tree.removed.contains(name) {
                    text.skipBlanks()
                    text.skipValue()
                } else {
                    if !isFirst { output.append(UInt8(ascii: ",")) }
                    isFirst = false
                    output.append(contentsOf: key)
                    output.append(UInt8(ascii: ":"))
                    if tree.nulled.contains(name) {
                        text.skipBlanks()
                        text.skipValue()
                        output.append(contentsOf: "null".utf8)
                    } else {
                        copyValue(tree.below[name] ?? Tree())
                    }
                }
                text.skipBlanks()
                if text.byte == UInt8(ascii: ",") { _ = text.take() }
                text.skipBlanks()
            }
            output.append(UInt8(ascii: "}"))
            _ = text.take()
        }
    }
}

extension ResponsePolicy {
    /// The members to remove below this field.
    package var redactions: JSONRedaction.Tree {
        var tree = JSONRedaction.Tree()
        for child in children {
            if child.isRedacted {
                tree.removed.insert(child.responseKey)
            } else {
                let below = child.redactions
                if !below.isEmpty { tree.below[child.responseKey] = below }
            }
        }
        return tree
    }
}
