import JSON

/// Compares two trees and writes the operations that turn one into the other.
struct PatchWriter {
    let old: JSONTree
    let new: JSONTree
    /// The operations so far, each preceded by a comma.
    private(set) var bytes: [UInt8] = []

    init(old: JSONTree, new: JSONTree) {
        self.old = old
        self.new = new
    }

    /// Writes the operations that turn one value into another.
    /// - Parameter path: a JSON pointer, escaped for use inside a JSON string.
    /// - Returns: false if the arrays differ too much to compare.
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
        // A value that changed in most places is shorter to replace.
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
        let (oldElements, newElements) = (old[from].children, new[to].children)
        var start = 0
        while start < min(oldElements.count, newElements.count),
            JSONTree.areEqual(old, oldElements[start], new, newElements[start])
        {
            start += 1
        }
        var end = 0
        while end < min(oldElements.count, newElements.count) - start,
            JSONTree.areEqual(
                old, oldElements[oldElements.count - 1 - end], new, newElements[newElements.count - 1 - end])
        {
            end += 1
        }
        let oldPart = Array(oldElements[start..<oldElements.count - end])
        let newPart = Array(newElements[start..<newElements.count - end])
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
            case .remove(let index): write("remove", path + Self.segment(start + index))
            case .add(let index, let element):
                write("add", path + Self.segment(start + index), value: newPart[element])
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

    /// Returns a member's name as a pointer segment inside a JSON string; escapes `~` and `/` (RFC 6901 §3).
    private static func segment(_ quoted: ArraySlice<UInt8>) -> [UInt8]? {
        var name = quoted.dropFirst().dropLast()
        if name.contains(UInt8(ascii: "\\")) {
            // An escape may denote either character: decode and re-encode the name.
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

/// Finds keys that identify the elements of two arrays.
enum ElementKeys {
    /// The number of members of the first object that are considered.
    private static let candidatesMax = 16

    /// Returns the values of an identifying member: a scalar that every element of both arrays has, with values unique
    /// within each array. Prefers `id`, then the member with most common values. Returns nil if there is none or if no
    /// value is common.
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
        /// The number of equal elements before it.
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
