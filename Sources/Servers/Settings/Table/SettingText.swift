/// Conversion between text and values. Messages complete the sentence "<key> …".
extension SettingKey {
    struct ValueError: Error {
        let message: String
    }

    /// The text that a layer has for a setting, or several for a list.
    enum Raw: Hashable, Sendable {
        case text(String)
        case list([String])
    }

    func parse(_ raw: Raw) throws(ValueError) -> SettingValue {
        let value: SettingValue
        switch (kind, raw) {
        case (.stringList, .list(let elements)): value = .stringList(elements)
        case (.stringList, .text(let text)): value = .stringList(Self.split(text))
        case (_, .list): throw ValueError(message: "takes one value, not a list")
        case (.string, .text(let text)): value = .string(text)
        case (.bool, .text(let text)):
            guard let bool = Self.bool(text) else { throw notA("true or false", text) }
            value = .bool(bool)
        case (.int, .text(let text)):
            let units = unit == .bytes ? Self.byteUnits : []
            guard let int = Self.int(text, units: units) else {
                throw notA(unit == .bytes ? "a number of bytes (or KiB, MiB, GiB)" : "a whole number", text)
            }
            value = .int(int)
        case (.duration, .text(let text)):
            guard let int = Self.int(text, units: Self.durationUnits) else {
                throw notA("a number of milliseconds (or ms, s, m, h)", text)
            }
            value = .int(int)
        }
        try check(value)
        return value
    }

    private func check(_ value: SettingValue) throws(ValueError) {
        switch (allowed, value) {
        case (.ints(let range), .int(let value)) where !range.contains(value):
            throw ValueError(message: "is \(value), allowed is \(allowedText)")
        case (.choices(let choices), .string(let value)):
            try check(value, among: choices)
        case (.choices(let choices), .stringList(let values)):
            for value in values { try check(value, among: choices) }
        default: break
        }
    }

    private func check(_ value: String, among choices: [String]) throws(ValueError) {
        guard !choices.contains(value) else { return }
        let hint = Suggestion.nearest(to: value, in: choices).map { "; did you mean \($0)?" } ?? ""
        throw ValueError(message: "is \"\(value)\", allowed is \(allowedText)\(hint)")
    }

    /// The error for a text that is not `expected`. It leaves the text of a secret out.
    private func notA(_ expected: String, _ text: String) -> ValueError {
        ValueError(message: secret ? "must be \(expected)" : "must be \(expected), not \"\(text.prefix(80))\"")
    }

    private static let durationUnits = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)]
    private static let byteUnits = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)]

    /// Digits, optionally grouped by `_`, with an optional unit.
    private static func int(_ text: String, units: [(suffix: String, factor: Int)]) -> Int? {
        var digits = Substring(text)
        var factor = 1
        if let unit = units.first(where: { text.hasSuffix($0.suffix) }) {
            digits = digits.dropLast(unit.suffix.count)
            if digits.last == " " { digits.removeLast() }
            factor = unit.factor
        }
        guard digits.first != "_", digits.last != "_", let number = Int(digits.filter { $0 != "_" }) else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: factor)
        return overflow ? nil : product
    }

    private static func bool(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "true", "yes", "on", "1": true
        case "false", "no", "off", "0": false
        default: nil
        }
    }

    /// The elements of `a, b`, as written in an environment variable.
    static func split(_ text: String) -> [String] {
        text.split(separator: ",").map { element in
            let rest = element.drop { $0 == " " }
            return String(rest.reversed().drop { $0 == " " }.reversed())
        }.filter { !$0.isEmpty }
    }
}

extension SettingKey {
    /// `10 to 60000`, `text or json`; empty if every value is allowed.
    package var allowedText: String {
        switch allowed {
        case .anything: ""
        case .ints(let range): "\(range.lowerBound) to \(range.upperBound)"
        case .choices(let choices):
            choices.count < 2
                ? choices.joined() : "\(choices.dropLast().joined(separator: ", ")) or \(choices[choices.count - 1])"
        }
    }
}

extension SettingValue {
    /// The value in YAML: strings quoted, lists in brackets.
    package var yaml: String {
        switch self {
        case .int(let value): String(value)
        case .bool(let value): String(value)
        case .string(let value): Self.quoted(value)
        case .stringList(let values): "[\(values.map(Self.quoted).joined(separator: ", "))]"
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\t": quoted += "\\t"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F:
                let hex = String(scalar.value, radix: 16)
                quoted += "\\x" + (hex.count < 2 ? "0" : "") + hex
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
