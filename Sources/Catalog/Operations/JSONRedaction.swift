/// Takes members out of a JSON text without touching the rest: numbers and texts stay byte for byte as Postgres wrote
/// them. The text is known to be JSON.
enum JSONRedaction {
    /// Members to take out, by key; inside of kept ones more may go. Lists are looked through.
    struct Tree: Sendable {
        var removed: Set<String> = []
        var below: [String: Tree] = [:]

        var isEmpty: Bool { removed.isEmpty && below.isEmpty }
    }

    static func strip(_ bytes: [UInt8], _ tree: Tree) -> [UInt8] {
        if tree.isEmpty { return bytes }
        var scanner = Scanner(bytes: bytes)
        scanner.output.reserveCapacity(bytes.count)
        scanner.copyValue(tree)
        return scanner.output
    }

    private struct Scanner {
        let bytes: [UInt8]
        var index = 0
        var output: [UInt8] = []

        init(bytes: [UInt8]) { self.bytes = bytes }

        var byte: UInt8 { index < bytes.count ? bytes[index] : 0 }

        mutating func skipBlanks() {
            while index < bytes.count, bytes[index] <= 0x20 { index += 1 }
        }

        mutating func copyValue(_ tree: Tree) {
            skipBlanks()
            switch byte {
            case UInt8(ascii: "{") where !tree.isEmpty: copyObject(tree)
            case UInt8(ascii: "[") where !tree.isEmpty: copyArray(tree)
            default:
                let start = index
                skipValue()
                output.append(contentsOf: bytes[start..<index])
            }
        }

        mutating func copyArray(_ tree: Tree) {
            output.append(byte)
            index += 1
            skipBlanks()
            while index < bytes.count, byte != UInt8(ascii: "]") {
                copyValue(tree)
                skipBlanks()
                if byte == UInt8(ascii: ",") {
                    output.append(byte)
                    index += 1
                }
                skipBlanks()
            }
            output.append(UInt8(ascii: "]"))
            index += 1
        }

        mutating func copyObject(_ tree: Tree) {
            output.append(byte)
            index += 1
            var isFirst = true
            skipBlanks()
            while index < bytes.count, byte != UInt8(ascii: "}") {
                let start = index
                skipValue()
                // Keys that matter are response keys, which hold no escapes.
                let name = String(decoding: bytes[(start + 1)..<max(start + 1, index - 1)], as: UTF8.self)
                let key = bytes[start..<index]
                skipBlanks()
                index += 1  // the colon
                if tree.removed.contains(name) {
                    skipBlanks()
                    skipValue()
                } else {
                    if !isFirst { output.append(UInt8(ascii: ",")) }
                    isFirst = false
                    output.append(contentsOf: key)
                    output.append(UInt8(ascii: ":"))
                    copyValue(tree.below[name] ?? Tree())
                }
                skipBlanks()
                if byte == UInt8(ascii: ",") { index += 1 }
                skipBlanks()
            }
            output.append(UInt8(ascii: "}"))
            index += 1
        }

        /// Past one value, whatever it is.
        mutating func skipValue() {
            var depth = 0
            repeat {
                switch byte {
                case UInt8(ascii: "\""): skipString()
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    depth += 1
                    index += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    depth -= 1
                    index += 1
                case UInt8(ascii: ","), UInt8(ascii: ":"): index += 1
                case 0x01...0x20: index += 1
                default: skipWord()
                }
            } while depth > 0 && index < bytes.count
        }

        mutating func skipString() {
            index += 1
            while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
                index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
            }
            index = min(index + 1, bytes.count)
        }

        /// A number or one of the three words.
        mutating func skipWord() {
            let ends: [UInt8] = [UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ":")]
            repeat { index += 1 } while index < bytes.count && bytes[index] > 0x20 && !ends.contains(bytes[index])
        }
    }
}

extension ResponsePolicy {
    /// What is to be taken out below this field.
    var redactions: JSONRedaction.Tree {
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
