/// String functions. Positions count code points.
enum StringFunctions {
    static let all: [FunctionDeclaration] = [
        FunctionDeclaration("charAt", [Extensions.method("string_char_at_int", [.string, .int], .string)]) {
            (arguments, budget, _) throws(EvaluationError) in
            let scalars = try scalars(arguments, 0, &budget)
            let position = try position(try arguments.int(1), scalars.count)
            return .string(position < scalars.count ? String(scalars[position]) : "")
        },
        search("indexOf", isLast: false), search("lastIndexOf", isLast: true),
        casing("lowerAscii") { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 },
        casing("upperAscii") { (0x61...0x7A).contains($0) ? $0 & 0xDF : $0 },
        FunctionDeclaration(
            "replace",
            [
                Extensions.method("string_replace", [.string, .string, .string], .string),
                Extensions.method("string_replace_int", [.string, .string, .string, .int], .string),
            ], replace),
        FunctionDeclaration(
            "split",
            [
                Extensions.method("string_split", [.string, .string], .list(.string)),
                Extensions.method("string_split_int", [.string, .string, .int], .list(.string)),
            ]
        ) { (arguments, budget, limits) throws(EvaluationError) in
            let text = try scalars(arguments, 0, &budget)
            let separator = try scalars(arguments, 1, &budget)
            let count = arguments.count > 2 ? try arguments.int(2) : -1
            let parts = split(text, separator, partsMax: count)
            try budget.charge(elements: parts.count, limits)
            return .list(parts.map { .string(Self.text($0)) })
        },
        FunctionDeclaration(
            "substring",
            [
                Extensions.method("string_substring_int", [.string, .int], .string),
                Extensions.method("string_substring_int_int", [.string, .int, .int], .string),
            ]
        ) { (arguments, budget, _) throws(EvaluationError) in
            let scalars = try scalars(arguments, 0, &budget)
            let start = try position(try arguments.int(1), scalars.count)
            let end = arguments.count > 2 ? try position(try arguments.int(2), scalars.count) : scalars.count
            guard start <= end else { throw EvaluationError(.indexOutOfRange) }
            return .string(text(scalars[start..<end]))
        },
        FunctionDeclaration("trim", [Extensions.method("string_trim", [.string], .string)]) {
            (arguments, budget, _) throws(EvaluationError) in
            var rest = try scalars(arguments, 0, &budget)[...]
            while let first = rest.first, first.properties.isWhitespace { rest.removeFirst() }
            while let last = rest.last, last.properties.isWhitespace { rest.removeLast() }
            return .string(text(rest))
        },
        FunctionDeclaration(
            "join",
            [
                Extensions.method("list_join", [.list(.string)], .string),
                Extensions.method("list_join_string", [.list(.string), .string], .string),
            ]
        ) { (arguments, budget, limits) throws(EvaluationError) in
            let separator = arguments.count > 1 ? try arguments.text(1) : ""
            var joined = ""
            for (index, element) in try arguments.list(0).enumerated() {
                guard case .string(let part) = element else { throw EvaluationError(.noSuchOverload) }
                try budget.charge(1)
                if index > 0 { joined += separator }
                joined += part
                try budget.charge(bytes: part.utf8.count + separator.utf8.count)
                guard joined.utf8.count <= limits.textBytesMax else { throw EvaluationError(.sizeExceeded) }
            }
            return .string(joined)
        },
        FunctionDeclaration(
            "reverse",
            [
                Extensions.method("string_reverse", [.string], .string),
                Extensions.method("list_reverse", [.list(Extensions.a)], .list(Extensions.a)),
            ]
        ) { (arguments, budget, limits) throws(EvaluationError) in
            if case .list(let elements) = arguments[0] {
                try budget.charge(elements: elements.count, limits)
                return .list(elements.reversed())
            }
            return .string(text(try scalars(arguments, 0, &budget).reversed()))
        },
        FunctionDeclaration("strings.quote", [Extensions.function("strings_quote", [.string], .string)]) {
            (arguments, budget, limits) throws(EvaluationError) in
            let text = try arguments.text(0)
            try budget.charge(text: text.utf8.count * 2 + 2, limits)
            return .string(quote(text))
        },
    ]

    // MARK: Parts

    private static func scalars(
        _ arguments: [Value], _ index: Int, _ budget: inout Budget
    ) throws(EvaluationError) -> [Unicode.Scalar] {
        let text = try arguments.text(index)
        try budget.charge(text.utf8.count / 8)
        return Array(text.unicodeScalars)
    }

    private static func text(_ scalars: some Sequence<Unicode.Scalar>) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }

    /// Returns a position in `0...count`, or throws `indexOutOfRange`.
    private static func position(_ value: Int64, _ count: Int) throws(EvaluationError) -> Int {
        guard value >= 0, value <= Int64(count) else { throw EvaluationError(.indexOutOfRange) }
        return Int(value)
    }

    private static func search(_ name: String, isLast: Bool) -> FunctionDeclaration {
        FunctionDeclaration(
            name,
            [
                Extensions.method("string_\(name)", [.string, .string], .int),
                Extensions.method("string_\(name)_int", [.string, .string, .int], .int),
            ]
        ) { (arguments, budget, _) throws(EvaluationError) in
            let text = try scalars(arguments, 0, &budget)
            let part = try scalars(arguments, 1, &budget)
            var start = isLast ? text.count : 0
            if arguments.count > 2 { start = try position(try arguments.int(2), text.count) }
            let end = text.count - part.count
            guard end >= 0 else { return .int(-1) }
            let positions =
                isLast ? stride(from: min(start, end), through: 0, by: -1) : stride(from: start, through: end, by: 1)
            for position in positions {
                try budget.charge(1 + part.count / 8)
                if text[position..<position + part.count].elementsEqual(part) { return .int(Int64(position)) }
            }
            return .int(-1)
        }
    }

    private static func casing(_ name: String, _ change: @escaping @Sendable (UInt8) -> UInt8) -> FunctionDeclaration {
        FunctionDeclaration(name, [Extensions.method("string_\(name)", [.string], .string)]) {
            (arguments, budget, limits) throws(EvaluationError) in
            let text = try arguments.text(0)
            try budget.charge(text: text.utf8.count, limits)
            return .string(String(decoding: text.utf8.map(change), as: UTF8.self))
        }
    }

    /// Splits a text into at most `partsMax` parts, the last of which holds the remainder; a negative maximum means no
    /// limit. An empty separator splits between all code points.
    private static func split(
        _ text: [Unicode.Scalar], _ separator: [Unicode.Scalar], partsMax: Int64
    ) -> [ArraySlice<Unicode.Scalar>] {
        if partsMax == 0 { return [] }
        var parts: [ArraySlice<Unicode.Scalar>] = []
        var start = 0
        var position = 0
        func mayCut() -> Bool { partsMax < 0 || parts.count < partsMax - 1 }
        if separator.isEmpty {
            while position < text.count - 1, mayCut() {
                parts.append(text[position..<position + 1])
                position += 1
            }
            if position < text.count { parts.append(text[position...]) }
            return parts
        }
        while position + separator.count <= text.count, mayCut() {
            guard text[position..<position + separator.count].elementsEqual(separator) else {
                position += 1
                continue
            }
            parts.append(text[start..<position])
            position += separator.count
            start = position
        }
        parts.append(text[start...])
        return parts
    }

    @Sendable private static func replace(
        _ arguments: [Value], _ budget: inout Budget, _ limits: Limits
    ) throws(EvaluationError) -> Value {
        let text = try scalars(arguments, 0, &budget)
        let old = try scalars(arguments, 1, &budget)
        let new = try arguments.text(2)
        let countMax = arguments.count > 3 ? try arguments.int(3) : -1
        var result = ""
        var replacedCount: Int64 = 0
        var position = 0
        var copied = 0
        while position <= text.count, countMax < 0 || replacedCount < countMax {
            guard position + old.count <= text.count, text[position..<position + old.count].elementsEqual(old) else {
                if position == text.count { break }
                position += 1
                continue
            }
            result += Self.text(text[copied..<position]) + new
            replacedCount += 1
            copied = position + old.count
            try budget.charge(1)
            try budget.charge(bytes: new.utf8.count)
            guard result.utf8.count <= limits.textBytesMax else { throw EvaluationError(.sizeExceeded) }
            // An empty search text matches before every code point and at the end.
            position += max(old.count, 1)
        }
        return .string(result + Self.text(text[min(copied, text.count)...]))
    }

    private static let escapes: [Unicode.Scalar: String] = [
        "\u{07}": "\\a", "\u{08}": "\\b", "\u{0C}": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\u{0B}": "\\v",
        "\\": "\\\\", "\"": "\\\"",
    ]

    private static func quote(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if let escape = escapes[scalar] { quoted += escape } else { quoted.unicodeScalars.append(scalar) }
        }
        return quoted + "\""
    }
}
