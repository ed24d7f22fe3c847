import JSON

/// Makes entity ids from the keys in a result's text, removes these and leaves the rest unchanged.
extension EntityTree {
    /// - Returns: the text without the keys, and the JSON text of `extensions.dataConnect`: one entry
    ///   `{"path":[…],"entityId":"…"}` per object and one `{"path":[…],"entityIds":["…",…]}` per list; empty if there
    ///   are none.
    func separate(_ text: [UInt8]) -> (body: [UInt8], entities: [UInt8]) {
        if isEmpty { return (text, []) }
        return text.withUnsafeBufferPointer { text in
            var separation = Separation(text)
            separation.value(self)
            return separation.finish()
        }
    }

    private struct Separation {
        private var scanner: JSONTextScanner
        /// The text up to `copied`, without the keys.
        private var body: [UInt8] = []
        private var copied = 0
        /// The entries, each preceded by a comma.
        private var entries: [UInt8] = []
        /// JSON texts of the path's elements, separated by commas.
        private var path: [UInt8] = []

        init(_ text: UnsafeBufferPointer<UInt8>) {
            scanner = JSONTextScanner(text)
            body.reserveCapacity(text.count)
        }

        mutating func finish() -> (body: [UInt8], entities: [UInt8]) {
            body.append(contentsOf: scanner.text(copied..<scanner.bytes.count))
            guard !entries.isEmpty else { return (body, []) }
            entries[0] = UInt8(ascii: "[")
            entries.append(UInt8(ascii: "]"))
            return (body, entries)
        }

        mutating func value(_ tree: EntityTree) {
            switch scanner.byte {
            case UInt8(ascii: "["): array(tree)
            case UInt8(ascii: "{"): _ = object(tree, isElement: false)
            default: scanner.skipValue()
            }
        }

        private mutating func array(_ tree: EntityTree) {
            let entriesBefore = entries.count
            var ids: [UInt8] = []
            var idsCount = 0
            var index = 0
            _ = scanner.take()
            while !scanner.isAtEnd, scanner.byte != UInt8(ascii: "]") {
                let isObject = scanner.byte == UInt8(ascii: "{")
                // An object without further ids below it needs no path.
                let isNamed = !isObject || tree.hasBelow
                let before = path.count
                if isNamed { enter(String(index).utf8) }
                if isObject {
                    if let key = object(tree, isElement: true) {
                        ids.append(UInt8(ascii: ids.isEmpty ? "[" : ","))
                        tree.appendID(of: scanner.text(key), to: &ids)
                        idsCount += 1
                    }
                } else {
                    value(tree)
                }
                if isNamed { path.removeSubrange(before...) }
                index += 1
                if scanner.byte == UInt8(ascii: ",") { _ = scanner.take() }
            }
            _ = scanner.take()
            guard idsCount > 0, idsCount == index else { return }
            ids.append(UInt8(ascii: "]"))
            // The list's entry precedes those inside it.
            let inside = Array(entries[entriesBefore...])
            entries.removeSubrange(entriesBefore...)
            addEntry("entityIds", ids)
            entries.append(contentsOf: inside)
        }

        /// - Returns: the range of the row's key.
        private mutating func object(_ tree: EntityTree, isElement: Bool) -> Range<Int>? {
            var rowKey: Range<Int>?
            _ = scanner.take()
            while !scanner.isAtEnd, scanner.byte != UInt8(ascii: "}") {
                let keyStart = scanner.index
                scanner.skipValue()
                let key = keyStart..<scanner.index
                _ = scanner.take()
                if tree.hasID, EntityTree.isMember(scanner.text(key)) {
                    let start = scanner.index
                    scanner.skipValue()
                    let found = start..<scanner.index
                    rowKey = found
                    if scanner.byte == UInt8(ascii: ",") { _ = scanner.take() }
                    body.append(contentsOf: scanner.text(copied..<keyStart))
                    copied = scanner.index
                    if !isElement {
                        var id: [UInt8] = []
                        tree.appendID(of: scanner.text(found), to: &id)
                        addEntry("entityId", id)
                    }
                    guard tree.hasBelow else {
                        scanner.skipRest()
                        return rowKey
                    }
                    continue
                }
                if let below = tree.below(key: scanner.text(key)) {
                    let before = path.count
                    enter(scanner.text(key))
                    value(below)
                    path.removeSubrange(before...)
                } else {
                    scanner.skipValue()
                }
                if scanner.byte == UInt8(ascii: ",") { _ = scanner.take() }
            }
            _ = scanner.take()
            return rowKey
        }

        private mutating func enter(_ element: some Collection<UInt8>) {
            if !path.isEmpty { path.append(UInt8(ascii: ",")) }
            path.append(contentsOf: element)
        }

        private mutating func addEntry(_ name: StaticString, _ value: [UInt8]) {
            if entries.isEmpty { entries.reserveCapacity(48 + path.count + value.count) }
            entries.append(#",{"path":["#)
            entries.append(contentsOf: path)
            entries.append(#"],""#)
            entries.append(name)
            entries.append(#"":"#)
            entries.append(contentsOf: value)
            entries.append(UInt8(ascii: "}"))
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}
