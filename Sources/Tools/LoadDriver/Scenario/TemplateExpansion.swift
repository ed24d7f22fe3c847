package import JSON
package import SeededRandom

/// The values of placeholders in one expansion.
package struct TemplateContext: Sendable {
    /// The number of the subscriber or mutation in the whole run.
    package var index: Int
    package var groupIndex: Int
    package var row: JSONValue?
    package var nowMs: Int64
    package var marker: String

    package init(index: Int, groupIndex: Int = 0, row: JSONValue? = nil, nowMs: Int64, marker: String = "") {
        self.index = index
        self.groupIndex = groupIndex
        self.row = row
        self.nowMs = nowMs
        self.marker = marker
    }
}

extension Template {
    package func expand(_ context: TemplateContext, _ random: inout SeededRandom) -> JSONValue {
        if parts.count == 1 {
            switch parts[0] {
            case .text(let text): return .string(text)
            case .placeholder(let placeholder): return placeholder.value(context, &random)
            }
        }
        return .string(expandText(context, &random))
    }

    package func expandText(_ context: TemplateContext, _ random: inout SeededRandom) -> String {
        var text = ""
        for part in parts {
            switch part {
            case .text(let literal): text += literal
            case .placeholder(let placeholder):
                let value = placeholder.value(context, &random)
                text += value.stringValue ?? value.description
            }
        }
        return text
    }
}

extension Template.Placeholder {
    fileprivate func value(_ context: TemplateContext, _ random: inout SeededRandom) -> JSONValue {
        switch self {
        case .subscriberIndex, .mutationIndex: .int(Int64(context.index))
        case .groupIndex: .int(Int64(context.groupIndex))
        // Every row was checked before the run started.
        case .row(let path): path.reduce(context.row) { value, key in value?[key] } ?? .null
        case .randomInt(let range): .int(Int64.random(in: range, using: &random))
        case .randomFloat(let tenths): .double(Double(Int64.random(in: tenths, using: &random)) / 10)
        case .randomUUID: .string(Self.uuid(&random))
        case .pick(let values): values[Int.random(in: 0..<values.count, using: &random)]
        case .cycle(let values): values[context.groupIndex % values.count]
        case .nowMs: .int(context.nowMs)
        case .marker: .string(context.marker)
        }
    }

    /// Makes a version 4 UUID (RFC 9562 section 5.4).
    private static func uuid(_ random: inout SeededRandom) -> String {
        let high = random.next() & ~0xF000 | 0x4000
        let low = random.next() & ~(3 << 62) | 2 << 62
        let digits = hexDigits(high) + hexDigits(low)
        var text = ""
        for (position, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(position) { text.append("-") }
            text.append(digit)
        }
        return text
    }

    private static func hexDigits(_ number: UInt64) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 16 - text.utf8.count) + text
    }
}

/// A JSON value whose strings may be templates.
package indirect enum TemplateTree: Sendable, Hashable {
    case literal(JSONValue)
    case text(Template)
    case array([TemplateTree])
    case object([Member])

    package struct Member: Sendable, Hashable {
        package let key: String
        package let value: TemplateTree

        package init(key: String, value: TemplateTree) {
            self.key = key
            self.value = value
        }
    }

    package func expand(_ context: TemplateContext, _ random: inout SeededRandom) -> JSONValue {
        switch self {
        case .literal(let value): return value
        case .text(let template): return template.expand(context, &random)
        case .array(let elements):
            var values: [JSONValue] = []
            for element in elements { values.append(element.expand(context, &random)) }
            return .array(values)
        case .object(let members):
            var object = JSONObject()
            for member in members { object[member.key] = member.value.expand(context, &random) }
            return .object(object)
        }
    }

    package var templates: [Template] {
        switch self {
        case .literal: []
        case .text(let template): [template]
        case .array(let elements): elements.flatMap(\.templates)
        case .object(let members): members.flatMap(\.value.templates)
        }
    }
}
