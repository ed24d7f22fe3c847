package import JSON

/// The reason why a patch cannot be applied.
package struct PatchError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The index of the failed operation; nil if the patch as a whole is malformed.
    package let operation: Int?
    package let reason: String

    package var description: String { operation.map { "operation \($0): \(reason)" } ?? reason }
}

extension JSONPatch {
    /// Applies a patch to a document as a client does: all operations or none (RFC 6902 §4, §5).
    package static func apply(_ patch: JSONValue, to document: JSONValue) throws(PatchError) -> JSONValue {
        guard let operations = patch.arrayValue else {
            throw PatchError(operation: nil, reason: "a patch must be an array")
        }
        var result = document
        for (index, operation) in operations.enumerated() {
            do throws(Failure) {
                try apply(operation, to: &result)
            } catch {
                throw PatchError(operation: index, reason: error.reason)
            }
        }
        return result
    }

    private struct Failure: Error {
        let reason: String
    }

    private static func apply(_ operation: JSONValue, to document: inout JSONValue) throws(Failure) {
        guard let name = operation["op"]?.stringValue, let path = operation["path"]?.stringValue else {
            throw Failure(reason: "\"op\" and \"path\" must be strings")
        }
        let segments = try segments(of: path)
        func value() throws(Failure) -> JSONValue {
            guard let value = operation["value"] else { throw Failure(reason: "\"value\" is missing") }
            return value
        }
        func from() throws(Failure) -> [String] {
            guard let from = operation["from"]?.stringValue else { throw Failure(reason: "\"from\" is missing") }
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
                throw Failure(reason: "a value cannot be moved into itself")
            }
            let moved = try remove(source[...], in: &document)
            try add(moved, segments[...], in: &document)
        case "copy": try add(try find(try from()[...], in: document), segments[...], in: &document)
        case "test":
            guard try find(segments[...], in: document) == value() else { throw Failure(reason: "the test failed") }
        default: throw Failure(reason: "unknown operation \"\(name)\"")
        }
    }

    /// Decodes a JSON pointer (RFC 6901 §4).
    private static func segments(of pointer: String) throws(Failure) -> [String] {
        if pointer.isEmpty { return [] }
        guard pointer.hasPrefix("/") else { throw Failure(reason: "a pointer must begin with /") }
        return pointer.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map {
            String($0.replacing("~1", with: "/").replacing("~0", with: "~"))
        }
    }

    private static func index(_ segment: String, _ count: Int) throws(Failure) -> Int {
        guard let index = Int(segment), String(index) == segment, (0..<count).contains(index) else {
            throw Failure(reason: "no element \(segment)")
        }
        return index
    }

    private static func find(_ path: ArraySlice<String>, in value: JSONValue) throws(Failure) -> JSONValue {
        guard let first = path.first else { return value }
        switch value {
        case .object(let object):
            guard let member = object[first] else { throw Failure(reason: "no member \(first)") }
            return try find(path.dropFirst(), in: member)
        case .array(let elements):
            return try find(path.dropFirst(), in: elements[try index(first, elements.count)])
        default: throw Failure(reason: "a scalar has no member \(first)")
        }
    }

    private static func add(
        _ added: JSONValue, _ path: ArraySlice<String>, in value: inout JSONValue
    ) throws(Failure) {
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
                guard var member = object[first] else { throw Failure(reason: "no member \(first)") }
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
        default: throw Failure(reason: "a scalar has no member \(first)")
        }
    }

    private static func remove(_ path: ArraySlice<String>, in value: inout JSONValue) throws(Failure) -> JSONValue {
        guard let first = path.first else { throw Failure(reason: "the whole document cannot be removed") }
        let rest = path.dropFirst()
        switch value {
        case .object(var object):
            guard var member = object[first] else { throw Failure(reason: "no member \(first)") }
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
        default: throw Failure(reason: "a scalar has no member \(first)")
        }
    }
}
