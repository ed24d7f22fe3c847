import JSON
import SeededRandom
import Yams

/// Parses scenario files; reports every problem with its line.
package struct ScenarioFile {
    /// The longest file; longer ones are rejected unread.
    package static let bytesMax = 1 << 20
    static let depthMax = 32

    var problems: [ScenarioError.Problem] = []
    let name: String

    private init(name: String) {
        self.name = name
    }

    /// Parses a scenario.
    /// - Parameter name: the file's name in messages.
    /// - Throws: `ScenarioError` with every problem found.
    package static func parse(name: String, text: String) throws(ScenarioError) -> Scenario {
        var file = ScenarioFile(name: name)
        guard let root = file.compose(text) else { throw ScenarioError(problems: file.problems) }
        let scenario = file.scenario(root)
        guard file.problems.isEmpty else { throw ScenarioError(problems: file.problems) }
        return scenario
    }

    private mutating func compose(_ text: String) -> ScenarioMapping? {
        guard text.utf8.count <= Self.bytesMax else {
            problems.append(.init(location: name, message: "is longer than \(Self.bytesMax) bytes"))
            return nil
        }
        do {
            guard let node = try Yams.compose(yaml: text) else {
                problems.append(.init(location: name, message: "is empty"))
                return nil
            }
            return mapping(node, "the file")
        } catch let error as YamlError {
            report(error)
        } catch {
            problems.append(.init(location: name, message: "invalid YAML"))
        }
        return nil
    }

    // MARK: Sections

    private mutating func scenario(_ root: ScenarioMapping) -> Scenario {
        refuseUnknown(
            root,
            [
                "name", "seed", "connector", "transport", "rows", "subscribers", "mutations", "connectPerSecond",
                "connectTimeoutMs", "warmUpMs", "durationMs", "settleMs", "requestTimeoutMs",
                "latencyFrom",
            ])
        let connector = text(root, "connector", orElse: "")
        let transport = choice(root, "transport", orElse: LoadTransport.graphqlTransportWS)
        let rows = root["rows"].flatMap { mapping($0, "rows") }.map { self.rows($0, connector) }
        let groups = list(root, "subscribers").map { group($0, connector, transport, hasRows: rows != nil) }
        let mutations = list(root, "mutations").map { mutation($0, connector, hasRows: rows != nil) }
        if groups.isEmpty, problems.isEmpty { report(line: root.line, "subscribers needs at least one group") }
        let scenario = Scenario(
            file: name, name: text(root, "name", orElse: Self.baseName(name)),
            seed: root["seed"] == nil
                ? nil : UInt64(number(root, "seed", in: 0...Int64.max, orElse: 0)),
            rows: rows, groups: groups, mutations: mutations,
            connectPerSecond: rate(root, "connectPerSecond", orElse: 500),
            connectTimeoutMs: number(root, "connectTimeoutMs", in: 100...3_600_000, orElse: 30_000),
            warmUpMs: number(root, "warmUpMs", in: 0...Scenario.durationMsMax, orElse: 1_000),
            durationMs: number(root, "durationMs", in: 100...Scenario.durationMsMax, orElse: 10_000),
            settleMs: number(root, "settleMs", in: 0...3_600_000, orElse: 10_000),
            requestTimeoutMs: number(root, "requestTimeoutMs", in: 10...600_000, orElse: 30_000),
            latencyFrom: choice(root, "latencyFrom", orElse: Scenario.LatencyStart.commit))
        if scenario.subscriberCount > Scenario.subscribersMax {
            report(line: root.line, "more than \(Scenario.subscribersMax) subscribers")
        }
        return scenario
    }

    private mutating func rows(_ map: ScenarioMapping, _ connector: String) -> Scenario.Rows {
        refuseUnknown(map, ["connector", "operation", "variables", "path", "rowsMax"])
        var variables: [JSONObject] = []
        switch map["variables"] {
        case nil: variables = [JSONObject()]
        case .sequence(let elements)?: variables = elements.compactMap { object($0) }
        case let node?: variables = object(node).map { [$0] } ?? []
        }
        let path = text(map, "path").split(separator: ".").map(String.init)
        return Scenario.Rows(
            connector: text(map, "connector", orElse: connector), operation: text(map, "operation"),
            variables: variables, path: path, rowsMax: Int(number(map, "rowsMax", in: 1...1_000_000, orElse: 100_000)),
            line: map.line)
    }

    private mutating func group(
        _ map: ScenarioMapping, _ connector: String, _ transport: LoadTransport, hasRows: Bool
    ) -> Scenario.Group {
        refuseUnknown(map, ["count", "connector", "operation", "transport", "variables", "token", "row"])
        return Scenario.Group(
            count: Int(number(map, "count", in: 1...Int64(Scenario.subscribersMax))),
            connector: neededConnector(map, connector), operation: text(map, "operation"),
            transport: choice(map, "transport", orElse: transport),
            variables: variables(map, .subscriber, hasRows: hasRows),
            token: token(map, .subscriber, hasRows: hasRows),
            row: choice(map, "row", orElse: Scenario.RowChoice.each), line: map.line)
    }

    private mutating func mutation(
        _ map: ScenarioMapping, _ connector: String, hasRows: Bool
    ) -> Scenario.Mutation {
        refuseUnknown(map, ["connector", "operation", "perSecond", "variables", "token", "retryMs", "row"])
        return Scenario.Mutation(
            connector: neededConnector(map, connector), operation: text(map, "operation"),
            perSecond: rate(map, "perSecond", orElse: nil), variables: variables(map, .mutation, hasRows: hasRows),
            token: token(map, .mutation, hasRows: hasRows),
            retryMs: number(map, "retryMs", in: 0...Scenario.durationMsMax, orElse: 0),
            row: choice(map, "row", orElse: Scenario.RowChoice.random), line: map.line)
    }

    private mutating func neededConnector(_ map: ScenarioMapping, _ inherited: String) -> String {
        let connector = text(map, "connector", orElse: inherited)
        if connector.isEmpty { report(line: map.line, "connector is missing, here and at the top of the file") }
        return connector
    }

    // MARK: Variables

    private mutating func variables(
        _ map: ScenarioMapping, _ scope: Template.Scope, hasRows: Bool
    ) -> TemplateTree {
        guard let node = map["variables"] else { return .object([]) }
        guard case .mapping = node else {
            report(line: node.mark?.line ?? map.line, "variables must be a mapping of names to values")
            return .object([])
        }
        return tree(node, scope, hasRows: hasRows, depth: 0)
    }

    private mutating func token(_ map: ScenarioMapping, _ scope: Template.Scope, hasRows: Bool) -> Template? {
        guard let node = map["token"] else { return nil }
        guard let scalar = node.scalar else {
            report(line: node.mark?.line ?? map.line, "token must be a text")
            return nil
        }
        return template(scalar.string, scope, hasRows: hasRows, line: node.mark?.line ?? map.line)
    }

    private mutating func template(
        _ text: String, _ scope: Template.Scope, hasRows: Bool, line: Int
    ) -> Template? {
        do throws(TemplateError) {
            let template = try Template(parsing: text, scope: scope)
            if !hasRows, let path = template.rowPaths.first {
                report(line: line, "{{row.\(path.joined(separator: "."))}} needs rows: at the top of the file")
            }
            return template
        } catch {
            report(line: line, error.description)
            return nil
        }
    }

    private mutating func tree(_ node: Node, _ scope: Template.Scope, hasRows: Bool, depth: Int) -> TemplateTree {
        let line = node.mark?.line ?? 1
        guard depth <= Self.depthMax else {
            report(line: line, "nested deeper than \(Self.depthMax)")
            return .literal(.null)
        }
        switch node {
        case .scalar(let scalar):
            let value = Self.value(scalar)
            guard case .string(let text) = value else { return .literal(value) }
            return template(text, scope, hasRows: hasRows, line: line).map { .text($0) } ?? .literal(.null)
        case .sequence(let elements):
            return .array(elements.map { tree($0, scope, hasRows: hasRows, depth: depth + 1) })
        case .mapping(let members):
            var result: [TemplateTree.Member] = []
            for (key, value) in members {
                guard let key = key.scalar?.string else {
                    // Without quotes, YAML reads `id: {{row.id}}` as a mapping inside a mapping.
                    report(line: line, "a key must be a word; a value that starts with {{ must be quoted")
                    continue
                }
                result.append(.init(key: key, value: tree(value, scope, hasRows: hasRows, depth: depth + 1)))
            }
            return .object(result)
        case .alias:
            report(line: line, "the alias has no target")
            return .literal(.null)
        }
    }

    /// Reads variables without templates.
    private mutating func object(_ node: Node) -> JSONObject? {
        let tree = tree(node, .subscriber, hasRows: false, depth: 0)
        let isFixed = tree.templates.allSatisfy { $0.parts.allSatisfy { if case .text = $0 { true } else { false } } }
        var random = SeededRandom(seed: 0)
        guard isFixed, case .object(let object) = tree.expand(TemplateContext(index: 0, nowMs: 0), &random) else {
            report(
                line: node.mark?.line ?? 1, "variables of rows must be a mapping, or a list of mappings, without {{…}}")
            return nil
        }
        return object
    }

    /// Converts a scalar by the JSON schema of YAML 1.2 (section 10.2): only plain scalars can be anything but strings.
    static func value(_ scalar: Node.Scalar) -> JSONValue {
        guard scalar.style == .plain || scalar.style == .any else { return .string(scalar.string) }
        switch scalar.string {
        case "", "~", "null": return .null
        case "true": return .bool(true)
        case "false": return .bool(false)
        default:
            let text = scalar.string
            if let value = Int64(text) { return .int(value) }
            if let first = text.utf8.first, first == 0x2D || (0x30...0x39).contains(first),
                !text.utf8.contains(where: { $0 == 0x78 || $0 == 0x58 }), let value = Double(text), value.isFinite
            {
                return .double(value)
            }
            return .string(text)
        }
    }

    private static func baseName(_ path: String) -> String {
        let file = path.split(separator: "/").last ?? "scenario"
        return String(file.prefix { $0 != "." })
    }
}
