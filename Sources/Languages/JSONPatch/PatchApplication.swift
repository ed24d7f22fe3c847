package import JSON

/// Why a patch cannot be applied.
package struct PatchError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Of the operation, from 0; nil when the patch is none.
    package let operation: Int?
    package let reason: String

    package var description: String { operation.map { "operation \($0): \(reason)" } ?? reason }
}

extension JSONPatch {
    /// What a client makes of a document and a patch. All or nothing. RFC 6902 §4, §5.
    package static func apply(_ patch: JSONValue, to document: JSONValue) throws(PatchError) -> JSONValue {
        guard let operations = patch.arrayValue else { throw PatchError(operation: nil, reason: "a patch is an array") }
        var result = document
        for (index, operation) in operations.enumerated() {
            do throws(Refusal) {
                try apply(operation, to: &result)
            } catch {
                throw PatchError(operation: index, reason: error.reason)
            }
        }
        return result
    }

    private struct Refusal: Error {
        let reason: String
    }

    private static func apply(_ operation: JSONValue, to document: inout JSONValue) throws(Refusal) {
        guard let name = operation["op"]?.stringValue, let path = operation["path"]?.stringValue else {
            throw Refusal(reason: "\"op\" and \"path\" are texts")
        }
        let segments = try segments(of: path)
        func value() throws(Refusal) -> JSONValue {
            guard let value = operation["value"] else { throw Refusal(reason: "\"value\" is missing") }
            return value
        }
        func from() throws(Refusal) -> [String] {
            guard let from = operation["from"]?.stringValue else { throw Refusal(reason: "\"from\" is missing") }
            return try Self.segments(of: from)
        }
        switch name {
        case "add": try add(try value(), segments[...], in: &document)
        case "remove": _ = try remove(segments[...], in: &document)
        case "replace":
            if segments.isEmpty {
                document = try value()
            } else {
                _ = try remove(segments[...], in: &document)
                try add(try value(), segments[...], in: &document)
            }
        case "move":
            let source = try from()
            guard source == segments || !segments.starts(with: source) else {
                throw Refusal(reason: "a value cannot be moved into itself")
            }
            let moved = try remove(source[...], in: &document)
            try add(moved, segments[...], in: &document)
        case "copy": try add(try find(try from()[...], in: document), segments[...], in: &document)
        case "test":
            guard try find(segments[...], in: document) == value() else { throw Refusal(reason: "the test failed") }
        default: throw Refusal(reason: "there is no operation \"\(name)\"")
        }
    }

    /// RFC 6901 §4.
    private static func segments(of pointer: String) throws(Refusal) -> [String] {
        if pointer.isEmpty { return [] }
        guard pointer.hasPrefix("/") else { throw Refusal(reason: "a pointer begins with /") }
        return pointer.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map {
            String($0.replacing("~1", with: "/").replacing("~0", with: "~"))
        }
    }

    private static func index(_ segment: String, _ count: Int) throws(Refusal) -> Int {
        guard let index = Int(segment), String(index) == segment, (0..<count).contains(index) else {
            throw Refusal(reason: "there is no element \(segment)")
        }
        return index
    }

    private static func find(_ path: ArraySlice<String>, in value: JSONValue) throws(Refusal) -> JSONValue {
        guard let first = path.first else { return value }
        switch value {
        case .object(let object):
            guard let member = object[first] else { throw Refusal(reason: "there is no member \(first)") }
            return try find(path.dropFirst(), in: member)
        case .array(let elements):
            return try find(path.dropFirst(), in: elements[try index(first, elements.count)])
        default: throw Refusal(reason: "\(first) is looked for in a scalar")
        }
    }

    private static func add(
        _ added: JSONValue, _ path: ArraySlice<String>, in value: inout JSONValue
    ) throws(Refusal) {
        guard let first = path.first else {
            value = added
            return
        }
        let rest = path.dropFirst()
        switch value {
        case .object(var object):
            if rest.isEmpty {
                object[first] = added
            } else {
                guard var member = object[first] else { throw Refusal(reason: "there is no member \(first)") }
                try add(added, rest, in: &member)
                object[first] = member
            }
            value = .object(object)
        case .array(var elements):
            if rest.isEmpty {
                elements.insert(added, at: first == "-" ? elements.count : try index(first, elements.count + 1))
            } else {
                let index = try index(first, elements.count)
                try add(added, rest, in: &elements[index])
            }
            value = .array(elements)
        default: throw Refusal(reason: "\(first) is looked for in a scalar")
        }
    }

    private static func remove(_ path: ArraySlice<String>, in value: inout JSONValue) throws(Refusal) -> JSONValue {
        guard let first = path.first else { throw Refusal(reason: "the whole document cannot be removed") }
        let rest = path.dropFirst()
        switch value {
        case .object(var object):
            guard var member = object[first] else { throw Refusal(reason: "there is no member \(first)") }
            let removed: JSONValue
            if rest.isEmpty {
                removed = member
                object[first] = JSONValue?.none
            } else {
                removed = try remove(rest, in: &member)
                object[first] = member
            }
            value = .object(object)
            return removed
        case .array(var elements):
            let index = try index(first, elements.count)
            let removed = rest.isEmpty ? elements.remove(at: index) : try remove(rest, in: &elements[index])
            value = .array(elements)
            return removed
        default: throw Refusal(reason: "\(first) is looked for in a scalar")
        }
    }
}
