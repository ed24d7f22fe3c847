/// The structure of a JSON text as byte ranges. Nothing is decoded, so values are copied into a patch byte for byte as
/// Postgres wrote them, numbers of any length included.
///
/// Values are equal if their bytes are. The same database writes the same value with the same bytes; where it does not,
/// a patch is larger than necessary but still correct. Hashes only save comparisons.
struct JSONTree {
    enum Kind: UInt8 {
        case scalar, array, object
    }

    struct Node {
        let kind: Kind
        var range: Range<Int>
        /// The member's name, including quotes; empty for elements and the root.
        let name: Range<Int>
        /// The hash of the content; that of a container combines its children's.
        var hash: Int
        /// Indices in `nodes`.
        var children: [Int]
    }

    let bytes: [UInt8]
    private(set) var nodes: [Node] = []

    /// Returns nil if the text is not JSON, is nested deeper than `depthMax`, has more than `nodesMax` values, or has
    /// an object with a duplicate name.
    init?(_ bytes: [UInt8], depthMax: Int = 128, nodesMax: Int) {
        self.bytes = bytes
        var scanner = Scanner(bytes: bytes, nodesMax: nodesMax, nodes: [])
        guard scanner.value(name: 0..<0, depthLeft: depthMax) != nil else { return nil }
        scanner.skipSpace()
        guard scanner.at == bytes.count else { return nil }
        nodes = scanner.nodes
    }

    /// The node at an index; the root is at 0.
    subscript(index: Int) -> Node { nodes[index] }

    func text(_ index: Int) -> ArraySlice<UInt8> { bytes[nodes[index].range] }
    func name(_ index: Int) -> ArraySlice<UInt8> { bytes[nodes[index].name] }

    static func areEqual(_ one: JSONTree, _ index: Int, _ other: JSONTree, _ otherIndex: Int) -> Bool {
        let (left, right) = (one[index], other[otherIndex])
        return left.hash == right.hash && left.range.count == right.range.count
            && one.text(index).elementsEqual(other.text(otherIndex))
    }

    /// Unlike `JSONTextScanner` of `Operations`, it checks the structure; that one is faster inside its own module.
    private struct Scanner {
        let bytes: [UInt8]
        let nodesMax: Int
        var nodes: [Node]
        var at = 0

        mutating func skipSpace() {
            while at < bytes.count, bytes[at] == 0x20 || bytes[at] == 0x0A || bytes[at] == 0x0D || bytes[at] == 0x09 {
                at += 1
            }
        }

        private mutating func take(_ byte: UInt8) -> Bool {
            guard at < bytes.count, bytes[at] == byte else { return false }
            at += 1
            return true
        }

        /// Scans a string and returns its range, including quotes.
        private mutating func string() -> Range<Int>? {
            let start = at
            guard take(UInt8(ascii: "\"")) else { return nil }
            while at < bytes.count {
                switch bytes[at] {
                case UInt8(ascii: "\""):
                    at += 1
                    return start..<at
                case UInt8(ascii: "\\"): at += 2
                default: at += 1
                }
            }
            return nil
        }

        private mutating func hash(of range: Range<Int>) -> Int {
            var hasher = Hasher()
            bytes.withUnsafeBytes { hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: $0[range])) }
            return hasher.finalize()
        }

        /// Scans the value that begins here and returns its index.
        mutating func value(name: Range<Int>, depthLeft: Int) -> Int? {
            guard depthLeft > 0, nodes.count < nodesMax else { return nil }
            skipSpace()
            guard at < bytes.count else { return nil }
            let index = nodes.count
            let start = at
            switch bytes[at] {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                let isObject = bytes[at] == UInt8(ascii: "{")
                at += 1
                nodes.append(
                    Node(kind: isObject ? .object : .array, range: start..<start, name: name, hash: 0, children: []))
                guard let children = children(isObject: isObject, depthLeft: depthLeft - 1) else { return nil }
                var hasher = Hasher()
                hasher.combine(isObject)
                for child in children {
                    if isObject { hasher.combine(hash(of: nodes[child].name)) }
                    hasher.combine(nodes[child].hash)
                }
                nodes[index].children = children
                nodes[index].range = start..<at
                nodes[index].hash = hasher.finalize()
            case UInt8(ascii: "\""):
                guard let range = string() else { return nil }
                nodes.append(Node(kind: .scalar, range: range, name: name, hash: hash(of: range), children: []))
            default:
                while at < bytes.count, Self.isWord(bytes[at]) { at += 1 }
                guard at > start else { return nil }
                nodes.append(
                    Node(kind: .scalar, range: start..<at, name: name, hash: hash(of: start..<at), children: []))
            }
            return index
        }

        /// Bytes of numbers, `true`, `false` and `null`, whose spelling is trusted.
        private static func isWord(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }

        private mutating func children(isObject: Bool, depthLeft: Int) -> [Int]? {
            let end = isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
            var children: [Int] = []
            var names: Set<ArraySlice<UInt8>> = []
            skipSpace()
            if take(end) { return children }
            while true {
                var name = 0..<0
                if isObject {
                    skipSpace()
                    guard let found = string(), names.insert(bytes[found]).inserted else { return nil }
                    name = found
                    skipSpace()
                    guard take(UInt8(ascii: ":")) else { return nil }
                }
                guard let child = value(name: name, depthLeft: depthLeft) else { return nil }
                children.append(child)
                skipSpace()
                if take(end) { return children }
                guard take(UInt8(ascii: ",")) else { return nil }
            }
        }
    }
}
