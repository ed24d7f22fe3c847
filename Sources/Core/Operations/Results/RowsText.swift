import JSON
import LiveModel

/// Extracts what a result's text tells of the rows read, and removes the members that the operation did not select.
extension RowsTree {
    /// - Parameter count: the number of sites that read rows.
    /// - Returns: the text without the extra members, and the rows read at each of these sites.
    func separate(_ text: [UInt8], count: Int) -> (body: [UInt8], rows: [RowsRead]) {
        if isEmpty { return (text, Array(repeating: RowsRead(), count: count)) }
        return text.withUnsafeBufferPointer { text in
            var separation = Separation(text, count: count)
            separation.value(self)
            return separation.finish()
        }
    }

    private struct Separation {
        /// The rows of a site in the objects so far.
        private struct Site {
            var bound: Set<UInt32>?
            var shown: Set<UInt32>?
            /// The rows of the list that is being read, and the places of the last row's values.
            var count = 0
            var last: [Range<Int>] = []
            /// One for each enclosing object so far; nil for a site without enclosing objects or without a window.
            var lists: [List]?
        }

        private struct List {
            let bound: UInt32?
            let count: Int
            let last: [Range<Int>]
        }

        private var scanner: JSONTextScanner
        /// The text up to `copied`, without the extra members.
        private var body: [UInt8] = []
        private var copied = 0
        private var sites: [Site]
        /// The places of the values of members, for each object around this one and for this one; empty if it has none.
        private var values: [Range<Int>] = []

        init(_ text: UnsafeBufferPointer<UInt8>, count: Int) {
            scanner = JSONTextScanner(text)
            body.reserveCapacity(text.count)
            sites = Array(repeating: Site(), count: count)
        }

        mutating func finish() -> (body: [UInt8], rows: [RowsRead]) {
            body.append(contentsOf: scanner.text(copied..<scanner.bytes.count))
            let rows = sites.map { site in
                RowsRead(
                    bound: site.bound.map(RowHashes.init), shown: site.shown.map(RowHashes.init),
                    lists: lists(of: site))
            }
            return (body, rows)
        }

        private func lists(of site: Site) -> [RowsRead.List] {
            let lists = site.lists ?? (site.shown == nil ? [] : [List(bound: nil, count: site.count, last: site.last)])
            if lists.count > RowsRead.listsMax { return [] }
            return lists.map { RowsRead.List(bound: $0.bound, count: $0.count, last: $0.last.map(value)) }
        }

        private func value(_ place: Range<Int>) -> JSONValue {
            (try? JSONParser.parse(Array(scanner.text(place)))) ?? .null
        }

        mutating func value(_ tree: RowsTree) {
            mark(tree)
            contents(tree)
        }

        /// A site without any object read no rows, which is known as well.
        private mutating func mark(_ tree: RowsTree) {
            for (site, use) in tree.uses {
                switch use {
                case .bound: if sites[site].bound == nil { sites[site].bound = [] }
                case .shown: if sites[site].shown == nil { sites[site].shown = [] }
                case .encloses: if sites[site].lists == nil { sites[site].lists = [] }
                }
            }
            for (_, below) in tree.below { mark(below) }
        }

        private mutating func contents(_ tree: RowsTree) {
            switch scanner.byte {
            case UInt8(ascii: "["):
                _ = scanner.take()
                while !scanner.isAtEnd, scanner.byte != UInt8(ascii: "]") {
                    contents(tree)
                    if scanner.byte == UInt8(ascii: ",") { _ = scanner.take() }
                }
                _ = scanner.take()
            case UInt8(ascii: "{"): object(tree)
            default: scanner.skipValue()
            }
        }

        private mutating func object(_ tree: RowsTree) {
            let first = values.count
            values.append(contentsOf: repeatElement(0..<0, count: tree.members.count))
            var membersLeft = tree.members.count
            for case (let site, .encloses) in tree.uses { (sites[site].count, sites[site].last) = (0, []) }
            _ = scanner.take()
            while !scanner.isAtEnd, scanner.byte != UInt8(ascii: "}") {
                if membersLeft == 0, tree.below.isEmpty { break }
                let keyStart = scanner.index
                scanner.skipValue()
                let key = scanner.text(keyStart..<scanner.index)
                _ = scanner.take()
                if membersLeft > 0, let member = tree.member(key: key) {
                    let start = scanner.index
                    scanner.skipValue()
                    values[first + member] = start..<scanner.index
                    membersLeft -= 1
                    if scanner.byte == UInt8(ascii: ",") { _ = scanner.take() }
                    if tree.members[member].isExtra {
                        body.append(contentsOf: scanner.text(copied..<keyStart))
                        copied = scanner.index
                    }
                    continue
                }
                if let below = tree.below(key: key) { contents(below) } else { scanner.skipValue() }
                if scanner.byte == UInt8(ascii: ",") { _ = scanner.take() }
            }
            if scanner.byte == UInt8(ascii: "}") { _ = scanner.take() } else { scanner.skipRest() }
            for (site, use) in tree.uses { add(use, first, to: site) }
            values.removeSubrange(first...)
        }

        private mutating func add(_ use: Use, _ first: Int, to site: Int) {
            var hasher = RowHasher()
            switch use {
            case .bound(let member):
                if let hash = hash(values[first + member]) { sites[site].bound?.insert(hash) }
            case .encloses(let member):
                if let count = sites[site].lists?.count, count > RowsRead.listsMax { return }
                let bound = member.flatMap { hash(values[first + $0]) }
                let list = List(bound: bound, count: sites[site].count, last: sites[site].last)
                sites[site].lists?.append(list)
            case .shown(let key, let order):
                for member in key { combine(values[first + member], &hasher) }
                sites[site].shown?.insert(hasher.finish())
                sites[site].count += 1
                sites[site].last = order.map { values[first + $0] }
            }
        }

        /// Returns the hash of a value; nil for null, which binds no rows.
        private func hash(_ value: Range<Int>) -> UInt32? {
            if value.isEmpty || scanner.bytes[value.lowerBound] == UInt8(ascii: "n") { return nil }
            var hasher = RowHasher()
            combine(value, &hasher)
            return hasher.finish()
        }

        /// Combines a value in the form of `GuardValue`.
        private func combine(_ value: Range<Int>, _ hasher: inout RowHasher) {
            let text = scanner.text(value)
            guard text.first == UInt8(ascii: "\"") else { return hasher.combine(text) }
            if text.contains(UInt8(ascii: "\\")) {
                hasher.combine((try? JSONParser.parse(Array(text))).map(GuardValue.text) ?? "")
            } else {
                hasher.combine(UnsafeBufferPointer(rebasing: text.dropFirst().dropLast()))
            }
        }
    }
}
