internal import JSON

/// Takes the ids of entities out of a result's text without touching the rest.
extension EntityTree {
    /// - Returns: the text without the ids, and the JSON text of `extensions.dataConnect`: one entry
    ///   `{"path":[…],"entityId":"…"}` for each object, one `{"path":[…],"entityIds":["…",…]}` for each list; empty when
    ///   there is none.
    func separate(_ text: [UInt8]) -> (body: [UInt8], entities: [UInt8]) {
        if isEmpty { return (text, []) }
        var separation = Separation(text)
        separation.value(self)
        guard !separation.entries.isEmpty else { return (separation.body, []) }
        separation.entries[0] = UInt8(ascii: "[")
        separation.entries.append(UInt8(ascii: "]"))
        return (separation.body, separation.entries)
    }

    private struct Separation {
        private var scanner: JSONTextScanner
        var body: [UInt8] = []
        /// Each after a comma.
        var entries: [UInt8] = []
        /// JSON texts of the path's elements.
        private var path: [[UInt8]] = []

        init(_ text: [UInt8]) {
            scanner = JSONTextScanner(text)
            body.reserveCapacity(text.count)
        }

        mutating func value(_ tree: EntityTree) {
            switch scanner.byte {
            case UInt8(ascii: "["): array(tree)
            case UInt8(ascii: "{"): _ = object(tree, isElement: false)
            default: body.append(contentsOf: scanner.takeValue())
            }
        }

        private mutating func array(_ tree: EntityTree) {
            // The list's own entry goes before those inside of it.
            let before = entries
            entries = []
            var ids: [[UInt8]] = []
            body.append(scanner.take())
            var index = 0
            while !scanner.isAtEnd, scanner.byte != UInt8(ascii: "]") {
                path.append(Array(String(index).utf8))
                if scanner.byte == UInt8(ascii: "{") {
                    if let id = object(tree, isElement: true) { ids.append(id) }
                } else {
                    value(tree)
                }
                path.removeLast()
                index += 1
                if scanner.byte == UInt8(ascii: ",") { body.append(scanner.take()) }
            }
            body.append(scanner.take())
            let inside = entries
            entries = before
            if !ids.isEmpty, ids.count == index {
                addEntry("entityIds", [0x5B] + ids.joined(separator: [0x2C]) + [0x5D])
            }
            entries.append(contentsOf: inside)
        }

        /// - Returns: its id, with the quotes.
        private mutating func object(_ tree: EntityTree, isElement: Bool) -> [UInt8]? {
            var id: [UInt8]?
            body.append(scanner.take())
            while !scanner.isAtEnd, scanner.byte != UInt8(ascii: "}") {
                let key = scanner.takeValue()
                // Response keys are names, which need no escapes.
                let name = String(decoding: key.dropFirst().dropLast(), as: UTF8.self)
                let colon = scanner.take()
                if tree.hasID, name == EntityTree.memberName {
                    let found = scanner.takeValue()
                    id = Array(found)
                    if !isElement { addEntry("entityId", found) }
                    if scanner.byte == UInt8(ascii: ",") { _ = scanner.take() }
                    continue
                }
                body.append(contentsOf: key)
                body.append(colon)
                if let below = tree.below[name] {
                    path.append(Array(key))
                    value(below)
                    path.removeLast()
                } else {
                    body.append(contentsOf: scanner.takeValue())
                }
                if scanner.byte == UInt8(ascii: ",") { body.append(scanner.take()) }
            }
            body.append(scanner.take())
            return id
        }

        private mutating func addEntry(_ name: String, _ value: some Collection<UInt8>) {
            entries.append(contentsOf: #",{"path":["#.utf8)
            entries.append(contentsOf: path.joined(separator: [UInt8(ascii: ",")]))
            entries.append(contentsOf: #"],"\#(name)":"#.utf8)
            entries.append(contentsOf: value)
            entries.append(UInt8(ascii: "}"))
        }
    }
}
