import JSON

/// JSON with two spaces of indentation and a newline at its end. Short lists of scalars stay on one line.
enum PrettyJSON {
    static func text(_ value: JSONValue) -> String {
        var text = ""
        append(value, depth: 0, to: &text)
        return text + "\n"
    }

    private static func append(_ value: JSONValue, depth: Int, to text: inout String) {
        let inner = String(repeating: "  ", count: depth + 1)
        let outer = String(repeating: "  ", count: depth)
        switch value {
        case .object(let object) where !object.isEmpty:
            text += "{\n"
            for (index, entry) in object.entries.enumerated() {
                text += inner + compact(.string(entry.key)) + ": "
                append(entry.value, depth: depth + 1, to: &text)
                text += index + 1 < object.count ? ",\n" : "\n"
            }
            text += outer + "}"
        case .array(let elements) where elements.contains(where: { $0.objectValue != nil || $0.arrayValue != nil }):
            text += "[\n"
            for (index, element) in elements.enumerated() {
                text += inner
                append(element, depth: depth + 1, to: &text)
                text += index + 1 < elements.count ? ",\n" : "\n"
            }
            text += outer + "]"
        case .array(let elements): text += "[\(elements.map(compact).joined(separator: ", "))]"
        case .null, .bool, .int, .double, .string, .object: text += compact(value)
        }
    }

    private static func compact(_ value: JSONValue) -> String {
        String(decoding: JSONWriter.compact(value), as: UTF8.self)
    }
}
