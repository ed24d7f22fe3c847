import JSON

/// Walks two trees and writes the operations that make one of the other.
struct PatchWriter {
    let old: JSONTree
    let new: JSONTree
    /// The operations so far, each with a comma before it.
    private(set) var bytes: [UInt8] = []

    init(old: JSONTree, new: JSONTree) {
        self.old = old
        self.new = new
    }

    /// - Parameter path: a JSON pointer as it stands inside a JSON text.
    /// - Returns: false when it would be more work than it is worth.
    mutating func change(_ from: Int, _ to: Int, path: [UInt8]) -> Bool {
        if JSONTree.areEqual(old, from, new, to) { return true }
        let start = bytes.count
        switch (old[from].kind, new[to].kind) {
        case (.object, .object): guard members(from, to, path) else { return false }
        case (.array, .array): guard elements(from, to, path) else { return false }
        default:
            write("replace", path, value: to)
            return true
        }
        // A value that changed in most places is shorter as a whole.
        let replacement = Self.overhead("replace", path) + new[to].range.count
        if bytes.count - start > replacement {
            bytes.removeLast(bytes.count - start)
            write("replace", path, value: to)
        }
        return true
    }

    // MARK: Objects

    private mutating func members(_ from: Int, _ to: Int, _ path: [UInt8]) -> Bool {
        var newByName: [ArraySlice<UInt8>: Int] = [:]
        for child in new[to].children { newByName[new.name(child)] = child }
        for child in old[from].children {
            guard let name = Self.segment(old.name(child)) else { return false }
            if let other = newByName.removeValue(forKey: old.name(child)) {
                guard change(child, other, path: path + name) else { return false }
            } else {
                write("remove", path + name)
            }
        }
        for child in new[to].children where newByName[new.name(child)] != nil {
            guard let name = Self.segment(new.name(child)) else { return false }
            write("add", path + name, value: child)
        }
        return true
    }

    // MARK: Arrays

    private mutating func elements(_ from: Int, _ to: Int, _ path: [UInt8]) -> Bool {
        let (oldAll, newAll) = (old[from].children, new[to].children)
        var start = 0
        while start < min(oldAll.count, newAll.count), JSONTree.areEqual(old, oldAll[start], new, newAll[start]) {
            start += 1
        }
        var end = 0
        while end < min(oldAll.count, newAll.count) - start,
            JSONTree.areEqual(old, oldAll[oldAll.count - 1 - end], new, newAll[newAll.count - 1 - end])
        {
            end += 1
        }
        let oldPart = Array(oldAll[start..<oldAll.count - end])
        let newPart = Array(newAll[start..<newAll.count - end])
        if let names = ElementKeys.members(old, oldPart, new, newPart) {
            return keyed(names.old, names.new, oldPart, newPart, start, path)
        }
        guard oldPart.count != newPart.count else {
            for (index, pair) in zip(oldPart, newPart).enumerated() {
                guard change(pair.0, pair.1, path: path + Self.segment(start + index)) else { return false }
            }
            return true
        }
        return keyed(
            ElementKeys.contents(old, oldPart), ElementKeys.contents(new, newPart), oldPart, newPart, start, path)
    }

    private mutating func keyed(
        _ oldKeys: [AnyHashable], _ newKeys: [AnyHashable], _ oldPart: [Int], _ newPart: [Int], _ start: Int,
        _ path: [UInt8]
    ) -> Bool {
        guard let diff = ArrayDiff(old: oldKeys, new: newKeys) else { return false }
        for step in diff.steps {
            switch step {
            case .remove(let place): write("remove", path + Self.segment(start + place))
            case .add(let place, let element):
                write("add", path + Self.segment(start + place), value: newPart[element])
            case .move(let from, let to):
                write("move", path + Self.segment(start + to), from: path + Self.segment(start + from))
            }
        }
        for pair in diff.pairs {
            guard change(oldPart[pair.old], newPart[pair.new], path: path + Self.segment(start + pair.new)) else {
                return false
            }
        }
        return true
    }

    // MARK: Text

    private static func overhead(_ operation: String, _ path: [UInt8]) -> Int {
        #",{"op":"","path":"","value":}"#.utf8.count + operation.utf8.count + path.count
    }

    private mutating func write(_ operation: String, _ path: [UInt8], from: [UInt8]? = nil, value: Int? = nil) {
        bytes.append(contentsOf: #",{"op":""#.utf8)
        bytes.append(contentsOf: operation.utf8)
        if let from {
            bytes.append(contentsOf: #"","from":""#.utf8)
            bytes.append(contentsOf: from)
        }
        bytes.append(contentsOf: #"","path":""#.utf8)
        bytes.append(contentsOf: path)
        bytes.append(UInt8(ascii: "\""))
        if let value {
            bytes.append(contentsOf: #","value":"#.utf8)
            bytes.append(contentsOf: new.text(value))
        }
        bytes.append(UInt8(ascii: "}"))
    }

    private static func segment(_ index: Int) -> [UInt8] { Array("/\(index)".utf8) }

    /// A member's name as a part of a pointer inside a JSON text. RFC 6901 §3: `~` and `/` are escaped.
    private static func segment(_ quoted: ArraySlice<UInt8>) -> [UInt8]? {
        var name = quoted.dropFirst().dropLast()
        if name.contains(UInt8(ascii: "\\")) {
            // An escape may stand for one of the two: write the name anew.
            guard let text = (try? JSONParser.parse(Array(quoted)))?.stringValue else { return nil }
            var written: [UInt8] = []
            JSONWriter.append(.string(text), to: &written)
            name = written.dropFirst().dropLast()
        }
        var segment = [UInt8(ascii: "/")]
        for byte in name {
            switch byte {
            case UInt8(ascii: "~"): segment.append(contentsOf: "~0".utf8)
            case UInt8(ascii: "/"): segment.append(contentsOf: "~1".utf8)
            default: segment.append(byte)
            }
        }
        return segment
    }
}

/// What tells the elements of two arrays apart.
enum ElementKeys {
    /// Members of the first object that are tried.
    private static let candidatesMax = 16

    /// The values of the member that every element of both arrays has, a scalar, and no two of one array alike. `id` goes
    /// before others, then the one with most values in both. Nil: there is none, or no value is in both.
    static func members(
        _ old: JSONTree, _ oldPart: [Int], _ new: JSONTree, _ newPart: [Int]
    ) -> (old: [AnyHashable], new: [AnyHashable])? {
        guard let first = oldPart.first, !newPart.isEmpty, old[first].kind == .object else { return nil }
        var best: (old: [AnyHashable], new: [AnyHashable], common: Int)?
        for child in old[first].children.prefix(candidatesMax) where old[child].kind == .scalar {
            let name = old.name(child)
            guard let left = values(of: name, old, oldPart), let right = values(of: name, new, newPart) else {
                continue
            }
            let known = Set(left)
            let common = right.count { known.contains($0) }
            guard common > 0 else { continue }
            if name.elementsEqual(#""id""#.utf8) { return (left, right) }
            if common > best?.common ?? 0 { best = (left, right, common) }
        }
        return best.map { ($0.old, $0.new) }
    }

    private static func values(of name: ArraySlice<UInt8>, _ tree: JSONTree, _ part: [Int]) -> [AnyHashable]? {
        var values: [AnyHashable] = []
        var seen: Set<AnyHashable> = []
        for element in part {
            guard tree[element].kind == .object,
                let member = tree[element].children.first(where: { tree.name($0) == name }),
                tree[member].kind == .scalar
            else { return nil }
            let value = AnyHashable(tree.text(member))
            guard seen.insert(value).inserted else { return nil }
            values.append(value)
        }
        return values
    }

    private struct Content: Hashable {
        let text: ArraySlice<UInt8>
        /// How many before it are the same.
        let number: Int
    }

    static func contents(_ tree: JSONTree, _ part: [Int]) -> [AnyHashable] {
        var counts: [ArraySlice<UInt8>: Int] = [:]
        return part.map { element in
            let text = tree.text(element)
            let number = counts[text, default: 0]
            counts[text] = number + 1
            return AnyHashable(Content(text: text, number: number))
        }
    }
}
