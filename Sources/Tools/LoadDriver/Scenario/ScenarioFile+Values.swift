import Yams

/// A YAML mapping with its line.
struct ScenarioMapping {
    let values: Node.Mapping
    let line: Int

    subscript(key: String) -> Node? {
        values.first { $0.key.scalar?.string == key }?.value
    }
}

extension ScenarioFile {
    mutating func mapping(_ node: Node, _ what: String) -> ScenarioMapping? {
        guard case .mapping(let values) = node else {
            report(line: node.mark?.line ?? 1, "\(what) must be a mapping")
            return nil
        }
        return ScenarioMapping(values: values, line: node.mark?.line ?? 1)
    }

    mutating func list(_ map: ScenarioMapping, _ key: String) -> [ScenarioMapping] {
        guard let node = map[key] else { return [] }
        guard case .sequence(let elements) = node else {
            report(line: node.mark?.line ?? map.line, "\(key) must be a list")
            return []
        }
        return elements.compactMap { mapping($0, "an element of \(key)") }
    }

    mutating func text(_ map: ScenarioMapping, _ key: String, orElse fallback: String? = nil) -> String {
        guard let node = map[key] else {
            if fallback == nil { report(line: map.line, "\(key) is missing") }
            return fallback ?? ""
        }
        guard let text = node.scalar?.string, !text.isEmpty else {
            report(line: node.mark?.line ?? map.line, "\(key) must be a text")
            return fallback ?? ""
        }
        return text
    }

    mutating func number(
        _ map: ScenarioMapping, _ key: String, in range: ClosedRange<Int64>, orElse fallback: Int64? = nil
    ) -> Int64 {
        guard let node = map[key] else {
            if fallback == nil { report(line: map.line, "\(key) is missing") }
            return fallback ?? range.lowerBound
        }
        guard let text = node.scalar?.string, let value = Int64(text), range.contains(value) else {
            report(
                line: node.mark?.line ?? map.line,
                "\(key) must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            return fallback ?? range.lowerBound
        }
        return value
    }

    mutating func rate(_ map: ScenarioMapping, _ key: String, orElse fallback: Double?) -> Double {
        guard let node = map[key] else {
            if fallback == nil { report(line: map.line, "\(key) is missing") }
            return fallback ?? 1
        }
        guard let text = node.scalar?.string, let value = Double(text), value > 0, value <= Scenario.perSecondMax else {
            report(line: node.mark?.line ?? map.line, "\(key) must be a number above 0, at most 100000")
            return fallback ?? 1
        }
        return value
    }

    mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ map: ScenarioMapping, _ key: String, orElse fallback: Choice
    ) -> Choice {
        guard let node = map[key] else { return fallback }
        guard let text = node.scalar?.string, let value = Choice(rawValue: text) else {
            let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            report(line: node.mark?.line ?? map.line, "\(key) must be one of \(known)")
            return fallback
        }
        return value
    }

    mutating func refuseUnknown(_ map: ScenarioMapping, _ known: [String]) {
        for (key, _) in map.values {
            let line = key.mark?.line ?? map.line
            guard let word = key.scalar?.string else {
                report(line: line, "a key must be a word")
                continue
            }
            if !known.contains(word) {
                report(line: line, "unknown key \"\(word)\"; known keys: \(known.joined(separator: ", "))")
            }
        }
    }

    mutating func report(line: Int, _ message: String) {
        problems.append(.init(location: "\(name):\(line)", message: message))
    }

    mutating func report(_ error: YamlError) {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            report(line: mark.line, "invalid YAML: \(problem)")
        case .duplicatedKeysInMapping(let duplicates, let context):
            report(line: context.mark.line, "set more than once: \(duplicates.sorted().joined(separator: ", "))")
        case .reader(let problem, _, _, _):
            problems.append(.init(location: name, message: "invalid YAML: \(problem)"))
        default:
            problems.append(.init(location: name, message: "invalid YAML"))
        }
    }
}
