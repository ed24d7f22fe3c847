import JSON

/// A text with placeholders in double braces.
///
///     {{subscriber.index}}       number of the subscriber in the whole run, from 0
///     {{group.index}}            number of the subscriber in its group, from 0
///     {{mutation.index}}         number of the mutation in the whole run, from 0
///     {{row.FIELD}}              field of the row that was chosen (`row:`) from the result of `rows:`
///     {{random.int 1 100}}       whole number, both ends included
///     {{random.float 1 5}}       number with one decimal
///     {{random.uuid}}
///     {{pick a b 'c d'}}         one of the words, at random
///     {{cycle a b c}}            one of the words, in turn: by group.index, for a mutation by mutation.index
///     {{now.ms}}                 Unix time in milliseconds
///     {{marker}}                 in mutations: the text by which deliveries are recognised
///
/// A text that consists of one placeholder takes its type: `"{{random.int 1 5}}"` is a number.
package struct Template: Sendable, Hashable {
    /// The position of a template, which decides what it may refer to.
    package enum Scope: Sendable, Hashable {
        case subscriber, mutation
    }

    enum Placeholder: Sendable, Hashable {
        case subscriberIndex, groupIndex, mutationIndex
        case row([String])
        case randomInt(ClosedRange<Int64>)
        /// The range in tenths.
        case randomFloat(ClosedRange<Int64>)
        case randomUUID
        case pick([JSONValue])
        case cycle([JSONValue])
        case nowMs
        case marker
    }

    enum Part: Sendable, Hashable {
        case text(String)
        case placeholder(Placeholder)
    }

    let parts: [Part]

    /// The fields of the row that this template reads.
    package var rowPaths: [[String]] {
        parts.compactMap { if case .placeholder(.row(let path)) = $0 { path } else { nil } }
    }

    /// Parses a template.
    /// - Throws: `TemplateError`.
    package init(parsing text: String, scope: Scope) throws(TemplateError) {
        var parts: [Part] = []
        var rest = Substring(text)
        while let open = Self.offset(of: "{{", in: rest) {
            if open > rest.startIndex { parts.append(.text(String(rest[..<open]))) }
            let body = rest[rest.index(open, offsetBy: 2)...]
            guard let close = Self.offset(of: "}}", in: body) else {
                throw TemplateError("\"{{\" without \"}}\"")
            }
            parts.append(.placeholder(try Self.placeholder(body[..<close], scope: scope)))
            rest = body[body.index(close, offsetBy: 2)...]
        }
        if !rest.isEmpty || parts.isEmpty { parts.append(.text(String(rest))) }
        self.parts = parts
    }

    private static func offset(of needle: String, in text: Substring) -> Substring.Index? {
        var at = text.startIndex
        while at < text.endIndex {
            if text[at...].hasPrefix(needle) { return at }
            at = text.index(after: at)
        }
        return nil
    }

    private static func placeholder(_ body: Substring, scope: Scope) throws(TemplateError) -> Placeholder {
        let words = try TemplateWord.split(body)
        guard let name = words.first?.text else { throw TemplateError("empty placeholder") }
        let arguments = Array(words.dropFirst())
        let placeholder: Placeholder
        switch name {
        case "subscriber.index", "group.index":
            guard scope == .subscriber else { throw TemplateError("{{\(name)}} has no meaning in a mutation") }
            placeholder = name == "group.index" ? .groupIndex : .subscriberIndex
        case "mutation.index", "marker":
            guard scope == .mutation else { throw TemplateError("{{\(name)}} has no meaning in a subscriber") }
            placeholder = name == "marker" ? .marker : .mutationIndex
        case "now.ms": placeholder = .nowMs
        case "random.uuid": placeholder = .randomUUID
        case "random.int":
            guard arguments.count == 2, let low = Int64(arguments[0].text), let high = Int64(arguments[1].text),
                low <= high
            else { throw TemplateError("{{random.int LOW HIGH}} takes two whole numbers, the lower first") }
            return .randomInt(low...high)
        case "random.float":
            guard arguments.count == 2, let low = Double(arguments[0].text), let high = Double(arguments[1].text),
                low <= high, low.magnitude < 1e15, high.magnitude < 1e15
            else { throw TemplateError("{{random.float LOW HIGH}} takes two numbers, the lower first") }
            let tenths = Int64((low * 10).rounded(.up))...max(Int64((low * 10).rounded(.up)), Int64(high * 10))
            return .randomFloat(tenths)
        case "pick", "cycle":
            guard !arguments.isEmpty else { throw TemplateError("{{\(name) …}} needs at least one word") }
            let values = arguments.map(\.value)
            return name == "pick" ? .pick(values) : .cycle(values)
        default:
            guard name.hasPrefix("row."), name.utf8.count > 4 else {
                throw TemplateError(
                    "unknown placeholder {{\(name)}}; known placeholders: subscriber.index, group.index, "
                        + "mutation.index, row.FIELD, random.int, random.float, random.uuid, pick, cycle, now.ms, "
                        + "marker")
            }
            placeholder = .row(name.dropFirst(4).split(separator: ".").map(String.init))
        }
        guard arguments.isEmpty else { throw TemplateError("{{\(name)}} takes no arguments") }
        return placeholder
    }
}

/// The problem of an invalid template.
package struct TemplateError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A word in a placeholder. Single or double quotes keep words with spaces together and make numbers strings.
private struct TemplateWord {
    var text: String
    var isQuoted: Bool

    var value: JSONValue {
        if isQuoted { return .string(text) }
        if text == "true" || text == "false" { return .bool(text == "true") }
        if let number = Int64(text) { return .int(number) }
        return .string(text)
    }

    static func split(_ body: Substring) throws(TemplateError) -> [TemplateWord] {
        var words: [TemplateWord] = []
        var current: TemplateWord?
        var quote: Character?
        for character in body {
            if let open = quote {
                if character == open { quote = nil } else { current?.text.append(character) }
            } else if character == "'" || character == "\"" {
                quote = character
                if current == nil { current = TemplateWord(text: "", isQuoted: true) }
            } else if character.isWhitespace {
                if let current { words.append(current) }
                current = nil
            } else {
                if current == nil { current = TemplateWord(text: "", isQuoted: false) }
                current?.text.append(character)
            }
        }
        guard quote == nil else { throw TemplateError("a quote is not closed") }
        if let current { words.append(current) }
        return words
    }
}
